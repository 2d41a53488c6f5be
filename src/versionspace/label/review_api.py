"""The part of the HTTP API that the review of all labels uses."""

from typing import Annotated, Literal

from fastapi import FastAPI, Path
from pydantic import BaseModel, Field

from versionspace.label.review import ReviewFilter, ReviewRow, audit_review, earlier_answers, review_page
from versionspace.label.schemas import WORD, GuessReply, KnownName, RequestBody, Who
from versionspace.label.service import LabelService
from versionspace.text import printable

MAX_ROWS = 200


class ReviewBody(RequestBody):
    """Which labels to list."""

    show: Literal["all", "doubt", "differs", "audit", "mistakes", "unsure", "bad", "skipped"] = "all"
    name: KnownName | None = None
    guess: KnownName | None = None
    by: Who | None = None
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 100

    def to_filter(self) -> ReviewFilter:
        """Return the filter."""
        return ReviewFilter(self.show, self.name, self.guess, self.by, self.offset, self.limit)


class RowReply(BaseModel):
    """One label."""

    image: str
    uid: str
    name: str | None
    reason: str
    who: str
    at: float
    """Seconds since 1970."""
    guess: GuessReply | None
    audit: bool
    doubtful: bool
    checked: bool
    file: str


class ReviewReply(BaseModel):
    """Some of the labels."""

    rows: list[RowReply]
    total: int
    offset: int
    counts: dict[str, int]
    people: list[str]


class AccuracyReply(BaseModel):
    """What the audit says about a class."""

    name: str
    images: int
    right: int
    guessed: int
    low: float
    high: float


class CellReply(BaseModel):
    """A cell of the confusion matrix that is not empty."""

    name: str
    guess: str
    images: int


class AuditReply(BaseModel):
    """The newest model on the audit."""

    round: int
    images: int
    right: int
    waiting: int
    classes: list[AccuracyReply]
    cells: list[CellReply]


class EarlierReply(BaseModel):
    """An answer that was given to an image."""

    name: str | None
    reason: str
    who: str
    at: float
    undone: bool


class EarlierAnswersReply(BaseModel):
    """All answers that were given to an image, newest first."""

    answers: list[EarlierReply]


def add_review_routes(app: FastAPI, service: LabelService) -> None:
    """Add the routes of the review; relabelling uses the route of all other answers."""

    @app.post("/api/review")
    def review(body: ReviewBody) -> ReviewReply:
        page = review_page(service, body.to_filter())
        rows = [_row_reply(row, service) for row in page.rows]
        counts = {str(show): count for show, count in page.counts.items()}
        return ReviewReply(rows=rows, total=page.total, offset=page.offset, counts=counts, people=page.people)

    @app.get("/api/review/audit")
    def audit() -> AuditReply:
        found = audit_review(service)
        classes = [
            AccuracyReply(
                name=c.name, images=c.images, right=c.right, guessed=c.guessed, low=c.low, high=c.high
            )
            for c in found.classes
        ]  # fmt: skip
        cells = [CellReply(name=name, guess=guess, images=n) for (name, guess), n in found.cells.items()]
        return AuditReply(
            round=found.round, images=found.images, right=found.right, waiting=found.waiting, classes=classes,
            cells=cells,
        )  # fmt: skip

    @app.get("/api/review/{image}")
    def answers(image: Annotated[str, Path(max_length=64, pattern=WORD)]) -> EarlierAnswersReply:
        found = earlier_answers(service, image)
        return EarlierAnswersReply(answers=[
            EarlierReply(name=a.name, reason=a.reason, who=a.who, at=a.at, undone=a.undone) for a in found
        ])  # fmt: skip


def _row_reply(row: ReviewRow, service: LabelService) -> RowReply:
    answer = row.answer
    guess = GuessReply(name=row.guess.name, agreement=row.guess.agreement) if row.guess else None
    reason = "" if answer.name is not None else answer.reason or "skipped"
    return RowReply(
        image=str(row.image), uid=answer.uid, name=answer.name, reason=reason,
        who=answer.who, at=answer.at, guess=guess, audit=row.audit, doubtful=row.doubtful, checked=row.checked,
        file=printable(service.campaign.images.files.get(row.image, "")),
    )  # fmt: skip
