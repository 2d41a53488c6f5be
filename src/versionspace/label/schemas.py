"""Request and response bodies of the HTTP API, validated by pydantic, and their conversion to internal records."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from versionspace.label import messages

LONGEST_ANSWER = 86400.0
"""Seconds per answer are capped at one day: a tab that was left open over a weekend was not looked at all the time."""


def _reject_surrogates(text: str) -> str:
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("lone surrogates cannot be stored")
    return text


def _cap_seconds(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST_ANSWER)


_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
WORD = r"^[A-Za-z0-9_-]+$"
WORD_OR_EMPTY = r"^[A-Za-z0-9_-]*$"
Uid = Annotated[str, Field(min_length=8, max_length=64, pattern=WORD)]
Id = Annotated[str, Field(min_length=1, max_length=64, pattern=WORD)]
Session = Annotated[str, Field(min_length=1, max_length=64, pattern=WORD)]
Who = Annotated[str, Field(max_length=40, pattern=_ONE_LINE), AfterValidator(_reject_surrogates)]
NewName = Annotated[str, Field(min_length=1, max_length=60, pattern=_ONE_LINE), AfterValidator(_reject_surrogates)]
"""Name of a class to add."""
KnownName = Annotated[str, Field(min_length=1), AfterValidator(_reject_surrogates)]
"""Name of an existing class, which a folder or config may have given any form. The service checks that it exists."""


class RequestBody(BaseModel):
    """A request; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SeenGuess(RequestBody):
    """The model's guess as the person saw it; a newer model may guess otherwise by now."""

    name: KnownName
    agreement: Annotated[float, Field(ge=0.0, le=1.0)]


class AnswerBody(RequestBody):
    """One answer."""

    uid: Uid
    kind: Literal["class", "skip", "unsure", "bad", "undo"]
    image: Id
    name: KnownName | None = None
    of: Annotated[str, Field(max_length=80, pattern=WORD_OR_EMPTY)] = ""
    """The uid of the answer to undo."""
    seconds: Annotated[float, AfterValidator(_cap_seconds)] = 0.0
    when: Literal["hidden", "after", "before"] = "hidden"
    """When the guess was shown; "hidden" if none was."""
    guess: SeenGuess | None = None
    """Required unless ``when`` is "hidden"."""
    grid: Annotated[str, Field(max_length=64, pattern=WORD_OR_EMPTY)] = ""
    """The same for all answers of one grid; empty for an image answered on its own."""
    again: bool = False
    """The image was shown for a second look."""
    review: bool = False
    """Given in the review of all labels."""
    edition: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """The edition of the list of classes that the tab had."""

    def to_answer(self) -> messages.Answer:
        """Return the answer as the service takes it."""
        return messages.Answer(
            self.uid, self.kind, self.image, self.name, self.of, self.seconds, self.when, self.grid, self.again,
            guess=messages.Guess(self.guess.name, self.guess.agreement) if self.guess else None,
            review=self.review, edition=self.edition,
        )  # fmt: skip


class AnswersBody(RequestBody):
    """Several answers, in order."""

    session: Session
    who: Who = ""
    answers: Annotated[list[AnswerBody], Field(max_length=100)]


class NextBody(RequestBody):
    """A request for images."""

    session: Session
    who: Who = ""
    have: Annotated[list[Id], Field(max_length=200)] = []
    """Images that the tab still has."""
    want: Annotated[int, Field(ge=0, le=12)] = 4
    when: Literal["hidden", "after", "before"] = "hidden"
    leaving: bool = False
    """The tab is being closed: no images are sent."""


class GridBody(RequestBody):
    """A request for a grid of images of one class."""

    session: Session
    who: Who = ""
    side: Annotated[int, Field(ge=3, le=5)] = 3
    name: KnownName | None = None
    have: Annotated[list[Id], Field(max_length=200)] = []
    """Images that the tab has besides the grid."""


class NewBudgetBody(RequestBody):
    """A new budget."""

    total: Annotated[int, Field(ge=1, le=10_000_000)]


class BudgetReply(BaseModel):
    """The current budget."""

    budget: int


class GuessReply(BaseModel):
    """The model's guess."""

    name: str
    agreement: float


class QuestionReply(BaseModel):
    """An image to answer."""

    image: str
    guess: GuessReply | None
    again: bool


class OfferReply(BaseModel):
    """A class and the number of images that a grid of it could show."""

    name: str
    images: int


class QuestionsReply(BaseModel):
    """Images for a tab."""

    tasks: list[QuestionReply]
    generation: int
    finished: str = ""
    name: str = ""
    offers: list[OfferReply] = []

    @classmethod
    def of(cls, batch: messages.QuestionBatch) -> "QuestionsReply":
        """Return the reply that carries these questions."""
        tasks = [
            QuestionReply(
                image=str(question.image), again=question.second_look,
                guess=GuessReply(name=question.guess.name, agreement=question.guess.agreement)
                if question.guess else None,
            )
            for question in batch.questions
        ]  # fmt: skip
        offers = [OfferReply(name=name, images=images) for name, images in batch.offers.items()]
        return cls(tasks=tasks, generation=batch.generation, finished=batch.finished, name=batch.name, offers=offers)


class RefusedReply(BaseModel):
    """An answer that will never be stored; the tab drops it and shows why."""

    uid: str
    why: str


class AnswersReply(BaseModel):
    """What became of the answers of a request."""

    taken: list[str]
    refused: list[RefusedReply]
    generation: int
    done: int


class ErrorReply(BaseModel):
    """Why a request failed."""

    detail: str
