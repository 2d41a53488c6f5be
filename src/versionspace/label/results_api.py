"""Routes of the HTTP API for the advice and the results: target, check, downloads."""

import json
from typing import Annotated, Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from pydantic import Field

from versionspace.label.label_studio import tasks
from versionspace.label.model_check import change_target, request_check
from versionspace.label.results import FILES, Kind, request_result, result_path
from versionspace.label.schemas import BudgetReply, RequestBody
from versionspace.label.service import LabelService
from versionspace.store import read_campaign
from versionspace.text import printable


class TargetBody(RequestBody):
    """A new accuracy that is good enough."""

    target: Annotated[float, Field(gt=0, lt=1)]


class CheckBody(RequestBody):
    """A request to label random images next."""

    images: Annotated[int, Field(ge=1, le=2000)]


class ResultBody(RequestBody):
    """A request for a file."""

    kind: Kind


def add_result_routes(app: FastAPI, service: LabelService) -> None:
    """Add the routes to the web application."""

    @app.post("/api/target")
    def set_target(body: TargetBody) -> dict[str, float]:
        change_target(service, body.target)
        return {"target": body.target}

    @app.post("/api/check")
    def check(body: CheckBody) -> BudgetReply:
        return BudgetReply(budget=request_check(service, body.images))

    @app.post("/api/results")
    def request(body: ResultBody) -> dict[str, str]:
        request_result(service, body.kind)
        return {"kind": body.kind}

    @app.get("/api/results/{kind}", response_class=FileResponse, responses={200: {"content": {
        "text/csv": {}, "application/zip": {}, "application/octet-stream": {}}}})  # fmt: skip
    def result(kind: Kind) -> FileResponse:
        return FileResponse(result_path(service, kind), filename=FILES[kind])

    @app.get("/api/labels.json", response_class=Response, responses={200: {"content": {"application/json": {}}}})
    def label_studio() -> Response:
        record = read_campaign(service.campaign.folder)  # from disk: no answer waits for it
        files = {image: printable(file) for image, file in service.campaign.images.files.items() if file}
        made: list[dict[str, Any]] = tasks(record, files)
        for task in made:
            task["meta"] |= {"missing": True} if task["meta"]["id"] in service.state.missing else {}
        disposition = {"content-disposition": 'attachment; filename="labels.json"'}
        return Response(json.dumps(made, ensure_ascii=False), media_type="application/json", headers=disposition)
