"""The sections of a config and their keys. Unknown keys are rejected."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from versionspace.ensemble import SIZES, Training, read_training
from versionspace.errors import InputError
from versionspace.query import find, names


class Section(BaseModel):
    """The base of all sections: frozen, strict about types, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class DataConfig(Section):
    """The images and their split. Sizes default to the paper's; for a folder, to all of its images."""

    name: str
    """The name of a dataset, or the path of a folder of images."""
    pool: int | None = Field(None, ge=1)
    validation: int | None = Field(None, ge=0)
    test: int | None = Field(None, ge=0)
    initial: int | None = Field(None, ge=0)
    """Number of labels to start with; see ``balanced``."""
    balanced: bool = True
    """Whether the first labels are drawn in equal numbers from each class, if labels are known."""
    classes: tuple[str, ...] = ()
    """For a folder: the classes to choose from."""
    size: int | None = Field(None, ge=1)
    """For a folder: the side length in pixels to which images are scaled."""
    channels: Literal[1, 3] | None = None
    """For a folder: 1 for greyscale, 3 for colour."""
    fit: Literal["crop", "pad", "stretch"] | None = None
    """For a folder: how images are made square."""

    @field_validator("classes", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("classes")
    @classmethod
    def _check_classes(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(given)) < len(given) or any(not name.strip() for name in given):
            raise ValueError("distinct class names that are not empty")
        return given


class EnsembleConfig(Section):
    """The members of the ensemble: samples of the version space."""

    net: str = "small"
    """conv2, conv3, conv6, resnet18, small, heads, or ``package.module:function`` that returns your own network."""
    members: int = Field(20, ge=1)

    @field_validator("net")
    @classmethod
    def _check_net(cls, net: str) -> str:
        module, _, function = net.partition(":")
        if net not in SIZES and not all((*module.split("."), function)):  # relative names such as .nets:small too
            raise ValueError(f"one of {', '.join(SIZES)}, or package.module:function")
        return net


class QueryConfig(Section):
    """The choice of images to label."""

    method: str = "gvd"
    size: int = Field(10, ge=1)
    """Number of images per round."""
    vote: Literal["soft", "hard"] = "soft"
    """The vote that gvd and its variants compare members with; other methods ignore it."""
    member: int | Literal["all"] = 0
    """The member that bald, coreset, dfal, badge and batchbald use."""
    passes: int = Field(20, ge=2)
    """Number of Monte-Carlo dropout passes of bald and batchbald."""

    @field_validator("method")
    @classmethod
    def _check_method(cls, method: str) -> str:
        if method not in names():
            raise ValueError(f"one of {', '.join(names())}")
        return method

    @model_validator(mode="after")
    def _check_member(self) -> "QueryConfig":
        if self.member == "all" and find(self.method).pool == "one member":
            raise InputError(
                "query.member", expected=f"the number of a member, since {self.method} uses one", got="'all'",
                fix="For example query.member = 0.",
            )  # fmt: skip
        return self


class BudgetConfig(Section):
    """The number of labels that may be given."""

    total: int = Field(ge=1)
    """All labels: first labels, queries and audit."""
    audit: int = Field(0, ge=0)
    """How many of them are drawn uniformly from the whole pool at the start and never trained on."""
    confidence: float = Field(0.95, gt=0, lt=1)
    """Confidence level of the audit's interval, over all rounds together."""

    @model_validator(mode="after")
    def _check_audit(self) -> "BudgetConfig":
        if self.audit >= self.total:
            raise InputError(
                "budget.audit", expected=f"fewer labels than budget.total, {self.total}", got=str(self.audit),
                fix="Lower it, or raise budget.total: audit images are not trained on.",
            )  # fmt: skip
        return self


class StopConfig(Section):
    """When to stop before the budget is spent."""

    when: str = ""
    """Rules joined by | and &: ``"flat(3, 0.002) & audit(0.9)"``; see docs/campaigns.md."""


class OracleConfig(Section):
    """The source of answers."""

    kind: Literal["labels", "person"] = "labels"
    """The dataset's own labels, or a person."""
    noise: float = Field(0.0, ge=0, le=1)
    """The share of images that a simulated oracle labels wrongly."""
    abstain: float = Field(0.0, ge=0, le=1)
    """The share of images that a simulated oracle skips."""


class ColdStartConfig(Section):
    """The first images to label if no labels are known."""

    size: int | None = Field(None, ge=1)
    """Number of images per ask; by default the number of classes."""
    cap: int | None = Field(None, ge=1)
    """Number of labels after which training starts even if a class has none; by default 10 × classes."""


class MeasureConfig(Section):
    """What is evaluated in every round."""

    pool: bool = True
    """Whether to evaluate the whole pool, which costs one pass over it."""


class MachineConfig(Section):
    """Settings that do not affect results."""

    device: str = "auto"
    threads: int = Field(0, ge=0)
    """0: all cores, divided among jobs."""


class GridConfig(Section):
    """The campaigns that ``versionspace run`` creates from a config: one per method and seed."""

    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    @field_validator("methods", "seeds", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("methods")
    @classmethod
    def _check_methods(cls, methods: tuple[str, ...]) -> tuple[str, ...]:
        if not set(methods) <= set(names()):
            raise ValueError(f"methods among {', '.join(names())}")
        return methods

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if any(seed < 0 for seed in seeds):
            raise ValueError("whole numbers of at least 0")
        return seeds


class Config(Section):
    """The settings of one campaign, or with ``grid`` of several."""

    preset: str = ""
    """The preset that the config is based on; a report then also shows the paper's figures."""
    seed: int = Field(0, ge=0)
    keep: Literal["ends", "all", "none"] = "ends"
    """Which weights are kept: of the first and last round, of all rounds, or of none."""
    data: DataConfig
    ensemble: EnsembleConfig = EnsembleConfig()
    training: dict[str, Any] = Field(default_factory=dict)
    """``like = "mnist"``, and single settings of `versionspace.Training` that differ from it."""
    query: QueryConfig = QueryConfig()
    budget: BudgetConfig
    stop: StopConfig = StopConfig()
    oracle: OracleConfig = OracleConfig()
    cold_start: ColdStartConfig = ColdStartConfig()
    measure: MeasureConfig = MeasureConfig()
    machine: MachineConfig = MachineConfig()
    grid: GridConfig = GridConfig()

    @model_validator(mode="after")
    def _check_training(self) -> "Config":
        self.training_for(has_validation=True)
        return self

    @model_validator(mode="after")
    def _check_budget(self) -> "Config":
        initial = self.data.initial or 0
        if initial + self.budget.audit > self.budget.total:
            raise InputError(
                "budget.total",
                expected=f"at least data.initial ({initial}) plus budget.audit ({self.budget.audit})",
                got=str(self.budget.total), fix="Raise it, or lower the others.",
            )  # fmt: skip
        return self

    def training_for(self, has_validation: bool) -> Training:
        """Return the training settings: the named ones or the default, with the changes of this config.

        The default depends on whether there are validation labels. Raises InputError for an unknown setting.
        """
        changes = dict(self.training)
        base = read_training(changes.pop("like", None), has_validation)
        known = set(base.__dataclass_fields__)
        if not set(changes) <= known:
            return read_training(changes)  # raises: it lists the known settings
        return Training(**{name: getattr(base, name) for name in known} | changes)

    def campaign(self, method: str, seed: int) -> "Config":
        """Return the config of one campaign of the grid."""
        values = self.model_dump() | {"seed": seed, "grid": {}}
        values["query"]["method"] = method
        if not find(method).takes_vote:
            values["query"]["vote"] = "soft"
        return Config.model_validate(values)
