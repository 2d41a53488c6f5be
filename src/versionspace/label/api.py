"""The web: every address of the page, what it takes and what it gives. Knows nothing of models."""

from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any, Literal

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from versionspace.errors import ExplainedError, InputError
from versionspace.label import messages
from versionspace.label.auth import App, Door, Guard
from versionspace.label.image_encoding import LARGEST, NotShown, Showing
from versionspace.label.service import LabelService
from versionspace.label.status import labels_csv
from versionspace.label.status import status as status_of
from versionspace.label.supervisor import Supervisor
from versionspace.text import printable

_PAGE = resources.files("versionspace.label") / "page"
_MEDIA = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
          "svg": "image/svg+xml"}  # fmt: skip
FILES = ("style.css", "main.js", "keys.js", "outbox.js", "stage.js", "classes.js", "grid.js", "side.js", "dom.js",
         "icon.svg")  # fmt: skip
THUMB = 160
_CLASSES = 1000
LONGEST = 86400.0
"""Seconds for one answer at most: a tab that was left open over a weekend has not been looked at all the time."""


def _whole(text: str) -> str:
    """Text that can be stored: no halves of characters."""
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("halves of characters are not taken")
    return text


def _within_a_day(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST)


_LINE = r"^[^\x00-\x1f\x7f]*$"
_WORD = r"^[A-Za-z0-9_-]+$"
Uid = Annotated[str, Field(min_length=8, max_length=64, pattern=_WORD)]
Id = Annotated[str, Field(min_length=1, max_length=64, pattern=_WORD)]
Session = Annotated[str, Field(min_length=1, max_length=64, pattern=_WORD)]
Who = Annotated[str, Field(max_length=40, pattern=_LINE), AfterValidator(_whole)]
Name = Annotated[str, Field(min_length=1, max_length=60, pattern=_LINE), AfterValidator(_whole)]
"""Of a class that is new."""
Known = Annotated[str, Field(min_length=1), AfterValidator(_whole)]
"""Of a class that is there: folders and configs name them as they like. Whether it is there is the service's to say."""


class Body(BaseModel):
    """Nothing that is not named."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Seen(Body):
    """The model's guess as it was on the person's screen: a newer model may say something else by now."""

    name: Known
    agreement: Annotated[float, Field(ge=0.0, le=1.0)]


class Given(Body):
    """One answer."""

    uid: Uid
    kind: Literal["class", "skip", "unsure", "bad", "undo"]
    image: Id
    name: Known | None = None
    of: Annotated[str, Field(max_length=80, pattern=r"^[A-Za-z0-9_-]*$")] = ""
    seconds: Annotated[float, AfterValidator(_within_a_day)] = 0.0
    when: Literal["hidden", "after", "before"] = "hidden"
    """As it was when the image came on the screen; "hidden" where no guess was seen."""
    guess: Seen | None = None
    """What was seen, unless it was "hidden". Tabs of earlier versions leave it out."""
    grid: bool = False
    again: bool = False


class Answers(Body):
    """Some answers, in order."""

    session: Session
    who: Who = ""
    answers: Annotated[list[Given], Field(max_length=100)]


class Want(Body):
    """A request for images."""

    session: Session
    who: Who = ""
    have: Annotated[list[Id], Field(max_length=200)] = []
    want: Annotated[int, Field(ge=0, le=12)] = 4
    when: Literal["hidden", "after", "before"] = "hidden"
    leaving: bool = False
    """The tab is closed; nothing is wanted."""


class WantGrid(Body):
    """A request for a grid."""

    session: Session
    who: Who = ""
    side: Annotated[int, Field(ge=3, le=5)] = 3
    name: Known | None = None
    have: Annotated[list[Id], Field(max_length=200)] = []
    """What the tab has besides the grid."""


class NewClass(Body):
    """A class to add."""

    name: Name


class NewBudget(Body):
    """Another budget."""

    total: Annotated[int, Field(ge=1, le=10_000_000)]


class Budget(BaseModel):
    """The budget there is."""

    budget: int


class Guess(BaseModel):
    """What the model says."""

    name: str
    agreement: float


class Task(BaseModel):
    """An image to answer."""

    image: str
    guess: Guess | None
    again: bool


class Served(BaseModel):
    """Images for a tab."""

    tasks: list[Task]
    generation: int
    finished: str
    name: str


class RefusedAnswer(BaseModel):
    """An answer that will never be taken: the tab drops it and says why."""

    uid: str
    why: str


class Outcome(BaseModel):
    """What became of answers."""

    taken: list[str]
    refused: list[RefusedAnswer]
    generation: int
    done: int


class Classes(BaseModel):
    """The classes there are."""

    classes: list[str]


class Problem(BaseModel):
    """Why not."""

    detail: str


_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem} for code in (400, 401, 403, 409, 413, 415, 421, 422)
}
_MISSING: dict[int | str, dict[str, Any]] = {404: {"model": Problem}, 410: {"model": Problem}}


def build(service: LabelService, supervisor: Supervisor | None, showing: Showing) -> FastAPI:
    """The app, without its guard."""
    app = FastAPI(title="versionspace label", docs_url=None, redoc_url=None, openapi_url=None, responses=_REFUSALS)
    files = {name: (_PAGE / name).read_bytes() for name in ("index.html", *FILES)}

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"detail": f"{where}: {first['msg']}"}, status_code=422)

    @app.exception_handler(ExplainedError)
    def explained(request: Request, error: ExplainedError) -> JSONResponse:
        code = 409 if isinstance(error, InputError) else 507
        return JSONResponse({"detail": printable(str(error))}, status_code=code)

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return Response(files["index.html"], media_type=_MEDIA["html"])

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name not in FILES:
            raise HTTPException(404, "there is no such file")
        return Response(files[name], media_type=_MEDIA[name.rpartition(".")[2]], headers={"cache-control": "no-cache"})

    @app.get("/image/{image}", response_class=Response, responses={
        **_MISSING, 200: {"content": {"image/png": {}, "image/jpeg": {}}}})  # fmt: skip
    def image(image: Annotated[str, InPath(max_length=64, pattern=_WORD)], small: bool = False) -> Response:
        try:
            found = showing.picture(image, THUMB if small else LARGEST)
        except NotShown as why:
            raise HTTPException(410 if why.known else 404, str(why)) from why
        return Response(found.content, media_type=found.media, headers={"cache-control": "private, max-age=86400"})

    @app.get("/api/status", responses=_MISSING)
    def status(
        session: Annotated[str, Query(max_length=64, pattern=r"^[A-Za-z0-9_-]*$")] = "",
        who: Annotated[Who, Query()] = "",
    ) -> dict[str, Any]:
        return status_of(service, supervisor, showing, session, who)

    @app.post("/api/next")
    def next_images(want: Want) -> Served:
        if want.leaving:
            service.leave(want.session)
            return Served(tasks=[], generation=service.generation(), finished="", name="")
        return _served(service.next(want.session, want.who, want.have, want.want, want.when))

    @app.post("/api/grid")
    def grid(want: WantGrid) -> Served:
        return _served(service.grid(want.session, want.who, want.side, want.name, want.have))

    @app.post("/api/answers")
    def answers(given: Answers) -> Outcome:
        found = service.answer(given.session, given.who, [_answer(g) for g in given.answers])
        refused = [RefusedAnswer(uid=r.uid, why=r.why) for r in found.refused]
        return Outcome(taken=found.taken, refused=refused, generation=service.generation(), done=service.spent())

    @app.post("/api/class")
    def add_class(new: NewClass) -> Classes:
        if len(service.state.classes) >= _CLASSES:
            raise HTTPException(409, f"{_CLASSES} classes are the most there can be")
        return Classes(classes=service.add_class(new.name.strip()))

    @app.post("/api/budget")
    def budget(new: NewBudget) -> Budget:
        return Budget(budget=service.extend(new.total))

    @app.get("/api/labels.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
    def table() -> Response:
        with service.lock:
            text = labels_csv(service.state, service.campaign.pictures.files)
        disposition = {"content-disposition": 'attachment; filename="labels.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=disposition)

    return app


def guarded(app: FastAPI, door: Door) -> App:
    """With its guard before it."""
    return Guard(app, door)


def _answer(given: Given) -> messages.Answer:
    return messages.Answer(
        given.uid, given.kind, given.image, given.name, given.of, given.seconds, given.when, given.grid, given.again,
        guess=messages.Guess(given.guess.name, given.guess.agreement) if given.guess else None,
    )  # fmt: skip


def _served(found: messages.Served) -> Served:
    tasks: Sequence[Task] = [
        Task(
            image=str(task.image), again=task.again,
            guess=Guess(name=task.guess.name, agreement=task.guess.agreement) if task.guess else None,
        )
        for task in found.tasks
    ]  # fmt: skip
    return Served(tasks=list(tasks), generation=found.generation, finished=found.finished, name=found.name)
