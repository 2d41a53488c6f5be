"""The shape of a config, section by section. Whatever is not named here is refused."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from versionspace.ensemble.settings import SIZES, Training, read_training
from versionspace.errors import InputError
from versionspace.query.methods import find, names

Seed = int


class Section(BaseModel):
    """Frozen, strict about types, and without room for keys that nobody reads."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class Data(Section):
    """Which images, and how they are cut. Sizes left out are the paper's, or for a folder what there is."""

    name: str
    """A dataset's name, or the path of a folder of images."""
    pool: int | None = Field(None, ge=1)
    validation: int | None = Field(None, ge=0)
    test: int | None = Field(None, ge=0)
    initial: int | None = Field(None, ge=0)
    """Labels to start with, drawn in equal numbers from each class where labels are known."""
    balanced: bool = True
    classes: tuple[str, ...] = ()
    """For a folder: the classes that people may choose from."""
    size: int | None = Field(None, ge=1)
    """For a folder: images are brought to this many pixels a side."""
    channels: Literal[1, 3] | None = None
    fit: Literal["crop", "pad", "stretch"] | None = None

    @field_validator("classes", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("classes")
    @classmethod
    def _distinct(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(given)) < len(given) or any(not name.strip() for name in given):
            raise ValueError("class names must be distinct and not empty")
        return given


class EnsembleConfig(Section):
    """The members: samples of the version space."""

    net: str = "small"
    """conv2, conv3, conv6, resnet18, small, heads, or ``package.module:function`` of your own."""
    members: int = Field(20, ge=1)

    @field_validator("net")
    @classmethod
    def _known(cls, net: str) -> str:
        module, _, function = net.partition(":")
        if net not in SIZES and not all((*module.split("."), function)):  # .nets:small would be relative to nothing
            raise ValueError(f"one of {', '.join(SIZES)}, or package.module:function")
        return net


class Query(Section):
    """Which images are asked for."""

    method: str = "gvd"
    size: int = Field(10, ge=1)
    """Images asked in a round."""
    vote: Literal["soft", "hard"] = "soft"
    """Of gvd and its kin; other methods of a grid have no use for it."""
    member: int | Literal["all"] = 0
    """At which network bald, coreset, dfal, badge and batchbald look."""
    passes: int = Field(20, ge=2)
    """Monte-Carlo dropout passes of bald and batchbald."""

    @field_validator("method")
    @classmethod
    def _known(cls, method: str) -> str:
        if method not in names():
            raise ValueError(f"one of {', '.join(names())}")
        return method

    @model_validator(mode="after")
    def _fitting(self) -> "Query":
        if self.member == "all" and find(self.method).pool == "one member":
            raise InputError(
                "query.member", expected=f"the number of a member, since {self.method} looks at one", got="'all'",
                fix="For example query.member = 0.",
            )  # fmt: skip
        return self


class Budget(Section):
    """How many labels may be asked for."""

    total: int = Field(ge=1)
    """All labels: the first ones, the queries and the audit."""
    audit: int = Field(0, ge=0)
    """Of these, so many are drawn uniformly from the whole pool at the start and never trained on."""
    confidence: float = Field(0.95, gt=0, lt=1)
    """Of the audit's interval, over all rounds together."""

    @model_validator(mode="after")
    def _room(self) -> "Budget":
        if self.audit >= self.total:
            raise ValueError(f"audit ({self.audit}) must leave labels of total ({self.total}) to learn from")
        return self


class Stop(Section):
    """When to stop before the budget is spent."""

    when: str = ""
    """Rules joined by | and &: ``"flat(3, 0.002) & audit(0.9)"``; see docs/campaigns.md."""


class Oracle(Section):
    """Who answers."""

    kind: Literal["labels", "person"] = "labels"
    noise: float = Field(0.0, ge=0, le=1)
    """The share of images that a simulated oracle gets wrong."""
    abstain: float = Field(0.0, ge=0, le=1)


class ColdStart(Section):
    """Where no labels are known at the start."""

    size: int | None = Field(None, ge=1)
    """Images asked at once; by default as many as there are classes."""
    cap: int | None = Field(None, ge=1)
    """After so many labels training starts though a class has none; by default 10 × classes."""


class Measure(Section):
    """What is evaluated every round."""

    pool: bool = True
    """Whether the whole pool is, which costs a pass over it."""


class Machine(Section):
    """What changes no result."""

    device: str = "auto"
    threads: int = Field(0, ge=0)
    """0: all cores, shared among jobs."""


class Grid(Section):
    """The campaigns that ``versionspace run`` makes of a config."""

    methods: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()

    @field_validator("methods", "seeds", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("methods")
    @classmethod
    def _known(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        for method in methods:
            if method not in names():
                raise ValueError(f"{method!r} is not one of {', '.join(names())}")
        return methods

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, seeds: tuple[Seed, ...]) -> tuple[Seed, ...]:
        if any(seed < 0 for seed in seeds):
            raise ValueError("seeds are whole numbers of at least 0")
        return seeds


class Config(Section):
    """One campaign, or with ``grid`` several."""

    preset: str = ""
    """The preset that this was made from; a report then shows the paper's own figures beside."""
    seed: int = Field(0, ge=0)
    keep: Literal["ends", "all", "none"] = "ends"
    """Whose weights are kept: of the first and last round, of all, of none."""
    data: Data
    ensemble: EnsembleConfig = EnsembleConfig()
    training: dict[str, Any] = Field(default_factory=dict)
    """``like = "mnist"`` and single settings of `versionspace.Training` that differ from it."""
    query: Query = Query()
    budget: Budget
    stop: Stop = Stop()
    oracle: Oracle = Oracle()
    cold_start: ColdStart = ColdStart()
    measure: Measure = Measure()
    machine: Machine = Machine()
    grid: Grid = Grid()

    @field_validator("training")
    @classmethod
    def _trainable(cls, given: dict[str, Any]) -> dict[str, Any]:
        training_of(given, has_validation=True)
        return given

    @model_validator(mode="after")
    def _affordable(self) -> "Config":
        initial = self.data.initial or 0
        if initial + self.budget.audit > self.budget.total:
            raise ValueError(
                f"budget.total ({self.budget.total}) must hold data.initial ({initial}) and budget.audit "
                f"({self.budget.audit})"
            )
        return self

    def training_for(self, has_validation: bool) -> Training:
        """The settings of a fit."""
        return training_of(self.training, has_validation)

    def campaign(self, method: str, seed: int) -> "Config":
        """The config of one campaign of the grid."""
        values = self.model_dump() | {"seed": seed, "grid": {}}
        values["query"]["method"] = method
        if not find(method).takes_vote:
            values["query"]["vote"] = "soft"
        return Config.model_validate(values)


def training_of(given: dict[str, Any], has_validation: bool) -> Training:
    """A named setting with changes; without a name, the default for what there is to watch."""
    changes = dict(given)
    like = changes.pop("like", None)
    base = read_training(like, has_validation)
    known = set(base.__dataclass_fields__)
    if not set(changes) <= known:
        return read_training(changes)  # refuses them
    return Training(**{name: getattr(base, name) for name in known} | changes)
