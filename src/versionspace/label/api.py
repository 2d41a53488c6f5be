"""The HTTP API of the labelling page and its static files. Knows nothing of models."""

from importlib import resources
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from versionspace.errors import ExplainedError, InputError
from versionspace.label.class_api import add_class_routes
from versionspace.label.export import labels_csv
from versionspace.label.image_encoding import LARGEST, ImageEncoder, ImageUnavailable
from versionspace.label.results_api import add_result_routes
from versionspace.label.review_api import add_review_routes
from versionspace.label.schemas import (
    WORD,
    WORD_OR_EMPTY,
    AnswersBody,
    AnswersReply,
    BudgetReply,
    ErrorReply,
    GridBody,
    NewBudgetBody,
    NextBody,
    QuestionsReply,
    RefusedReply,
    Who,
)
from versionspace.label.service import LabelService
from versionspace.label.status import page_status
from versionspace.label.supervisor import Supervisor
from versionspace.text import printable

_PAGE = resources.files("versionspace.label") / "page"
_MEDIA = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
          "svg": "image/svg+xml"}  # fmt: skip
STATIC_FILES = ("style.css", "main.js", "keys.js", "outbox.js", "stage.js", "classes.js", "grid.js", "side.js",
                "results.js", "dom.js", "icon.svg", "views.js", "review.js", "confusion.js", "class_settings.js",
                "review.css")  # fmt: skip
THUMBNAIL = 160
"""Pixels of the longer side."""

_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorReply} for code in (400, 401, 403, 409, 413, 415, 421, 422)
}
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": ErrorReply}, 410: {"model": ErrorReply}}


def create_app(service: LabelService, supervisor: Supervisor | None, encoder: ImageEncoder) -> FastAPI:
    """Return the web application, without access control."""
    app = FastAPI(title="versionspace label", docs_url=None, redoc_url=None, openapi_url=None, responses=_ERRORS)
    files = {name: (_PAGE / name).read_bytes() for name in ("index.html", *STATIC_FILES)}

    @app.exception_handler(RequestValidationError)
    def invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"detail": f"{field}: {first['msg']}"}, status_code=422)

    @app.exception_handler(ExplainedError)
    def failed_request(request: Request, error: ExplainedError) -> JSONResponse:
        code = 409 if isinstance(error, InputError) else 507
        return JSONResponse({"detail": printable(str(error))}, status_code=code)

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return Response(files["index.html"], media_type=_MEDIA["html"])

    @app.get("/static/{name}", include_in_schema=False)
    def static_file(name: str) -> Response:
        if name not in STATIC_FILES:
            raise HTTPException(404, "no such file")
        return Response(files[name], media_type=_MEDIA[name.rpartition(".")[2]], headers={"cache-control": "no-cache"})

    @app.get("/image/{image}", response_class=Response, responses={
        **_NOT_FOUND, 200: {"content": {"image/png": {}, "image/jpeg": {}}}})  # fmt: skip
    def image_file(image: Annotated[str, Path(max_length=64, pattern=WORD)], small: bool = False) -> Response:
        try:
            picture = encoder.image(image, THUMBNAIL if small else LARGEST)
        except ImageUnavailable as why:
            raise HTTPException(410 if why.known else 404, str(why)) from why
        return Response(picture.content, media_type=picture.media, headers={"cache-control": "private, max-age=86400"})

    @app.get("/api/status", responses=_NOT_FOUND)
    def status(
        session: Annotated[str, Query(max_length=64, pattern=WORD_OR_EMPTY)] = "", who: Annotated[Who, Query()] = ""
    ) -> dict[str, Any]:
        return page_status(service, supervisor, encoder, session, who)

    @app.post("/api/next")
    def next_questions(body: NextBody) -> QuestionsReply:
        if body.leaving:
            service.end_session(body.session)
            return QuestionsReply(tasks=[], generation=service.newest_round())
        return QuestionsReply.of(service.next_questions(body.session, body.who, body.have, body.want, body.when))

    @app.post("/api/grid")
    def grid(body: GridBody) -> QuestionsReply:
        return QuestionsReply.of(service.grid(body.session, body.side, body.name, body.have))

    @app.post("/api/answers")
    def answers(body: AnswersBody) -> AnswersReply:
        outcome = service.answer(body.session, body.who, [answer.to_answer() for answer in body.answers])
        refused = [RefusedReply(uid=answer.uid, why=answer.why) for answer in outcome.refused]
        return AnswersReply(
            taken=outcome.stored, refused=refused, generation=service.newest_round(), done=service.spent()
        )

    add_class_routes(app, service)
    add_review_routes(app, service)

    @app.post("/api/budget")
    def set_budget(body: NewBudgetBody) -> BudgetReply:
        return BudgetReply(budget=service.set_budget(body.total))

    @app.get("/api/labels.csv", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
    def label_table() -> Response:
        with service.lock:
            text = labels_csv(service.state, service.campaign.images.files)
        disposition = {"content-disposition": 'attachment; filename="labels.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=disposition)

    add_result_routes(app, service)
    return app
