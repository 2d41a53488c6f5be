"""The part of the HTTP API that changes classes: add, rename, merge, delete, order, keys and guidance."""

from collections import Counter
from typing import Annotated

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

from versionspace.campaign import Campaign
from versionspace.errors import InputError
from versionspace.label.schemas import KnownName, NewName, RequestBody, Who
from versionspace.label.service import LabelService

MAX_CLASSES = 1000
COMMAND_KEYS = frozenset("uxgzsnprcd")
"""Letters that the page uses for commands, which no class may have."""


class NewClassBody(RequestBody):
    """A class to add."""

    name: NewName
    who: Who = ""


class RenameBody(RequestBody):
    """A class and its new name."""

    name: KnownName
    to: NewName
    who: Who = ""


class MergeBody(RequestBody):
    """A class and the one that its labels belong to from now on."""

    name: KnownName
    into: KnownName
    who: Who = ""


class DeleteBody(RequestBody):
    """A class to delete, and the number of its labels that the person was told of."""

    name: KnownName
    labels: Annotated[int, Field(ge=0)]
    who: Who = ""


class OrderBody(RequestBody):
    """Names of classes in the order in which the page shows them."""

    names: Annotated[list[KnownName], Field(max_length=MAX_CLASSES)]
    who: Who = ""


class DescribeBody(RequestBody):
    """What to change about a class; None leaves it as it is."""

    name: KnownName
    key: Annotated[str, Field(max_length=4)] | None = None
    guidance: Annotated[str, Field(max_length=400)] | None = None
    who: Who = ""


class ListedClass(BaseModel):
    """A class, and how many images have it as their label, those of the audit among them."""

    name: str
    labels: int
    key: str
    guidance: str


class ClassesReply(BaseModel):
    """All classes, in the order in which the page shows them."""

    classes: list[ListedClass]
    edition: int


def listed_classes(service: LabelService) -> ClassesReply:
    """Return all classes."""
    with service.lock:
        listed = service.state.class_list
        counts = Counter(answer.name for answer in service.history.current.values())
        classes = [
            ListedClass(name=name, labels=counts[name], key=listed.note(name).key, guidance=listed.note(name).guidance)
            for name in listed.order
        ]
        return ClassesReply(classes=classes, edition=listed.edition)


def add_class_routes(app: FastAPI, service: LabelService) -> None:
    """Add the routes that list and change classes. Each change returns the whole list."""

    @app.get("/api/classes")
    def classes() -> ClassesReply:
        return listed_classes(service)

    @app.post("/api/class")
    def add_class(body: NewClassBody) -> ClassesReply:
        if len(service.state.classes) >= MAX_CLASSES:
            raise HTTPException(409, f"a campaign has at most {MAX_CLASSES} classes")
        name = body.name.strip()

        def add(campaign: Campaign) -> None:
            if name in campaign.state.classes:
                raise InputError(
                    "class", expected="a new name", got=f"“{name}”, which exists already", fix="Use that class."
                )
            campaign.add_class(name)

        service.edit_classes(add)
        return listed_classes(service)

    @app.post("/api/class/rename")
    def rename_class(body: RenameBody) -> ClassesReply:
        service.edit_classes(lambda campaign: campaign.rename_class(body.name, body.to.strip(), who=body.who))
        return listed_classes(service)

    @app.post("/api/class/merge")
    def merge_classes(body: MergeBody) -> ClassesReply:
        service.edit_classes(lambda campaign: campaign.merge_classes(body.name, body.into, who=body.who))
        return listed_classes(service)

    @app.post("/api/class/delete")
    def delete_class(body: DeleteBody) -> ClassesReply:
        def delete(campaign: Campaign) -> None:
            labels = sum(answer.name == body.name for answer in service.history.current.values())
            if labels > body.labels and body.name in campaign.state.classes:
                raise InputError(
                    "delete", expected=f"“{body.name}” with {body.labels} labels",
                    got=f"{labels}: more were given since",
                    fix="Delete it again if you still want to.",
                )  # fmt: skip
            campaign.delete_class(body.name, who=body.who)

        service.edit_classes(delete)
        return listed_classes(service)

    @app.post("/api/class/order")
    def order_classes(body: OrderBody) -> ClassesReply:
        service.edit_classes(lambda campaign: campaign.order_classes(body.names, who=body.who))
        return listed_classes(service)

    @app.post("/api/class/describe")
    def describe_class(body: DescribeBody) -> ClassesReply:
        if body.key is not None and body.key.lower() in COMMAND_KEYS:
            raise InputError(
                "key", expected="a key that is free", got=f"{body.key.upper()}, which the page uses for a command",
                fix="Choose another: the button Keys lists them.",
            )  # fmt: skip
        service.edit_classes(
            lambda campaign: campaign.describe_class(body.name, key=body.key, guidance=body.guidance, who=body.who)
        )
        return listed_classes(service)
