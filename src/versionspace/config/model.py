"""The sections of a config and their keys. Unknown keys are rejected."""

from typing import Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from versionspace.data import DATASETS, is_features_file
from versionspace.ensemble import SIZES, Training, read_training
from versionspace.errors import InputError
from versionspace.features import DEFAULT_EXTRACTOR, absolute_name, find_maker
from versionspace.query import find, names

_ON_VECTORS = "heads"
"""The network of this package that sees features."""


class Section(BaseModel):
    """The base of all sections: frozen, strict about types, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)
    _unwritten_defaults: ClassVar[tuple[str, ...]] = ()
    """Keys that are left out of files and comparisons while they have their default, because campaigns that began
    before there was such a key resume as they were."""

    @model_serializer(mode="wrap")
    def _leave_out_defaults(self, values: SerializerFunctionWrapHandler) -> dict[str, Any]:
        body: dict[str, Any] = values(self)
        for key in self._unwritten_defaults:
            if body.get(key) == type(self).model_fields[key].default:
                del body[key]
        return body


class DataConfig(Section):
    """The images and their split. Sizes default to the paper's; for a folder, to all of its images."""

    _unwritten_defaults = ("follow_links",)

    name: str
    """The name of a dataset, or the path of a folder of images or of a features file."""
    features: str | None = None
    """For a folder: a features file, whose vectors the learner uses in place of pixels."""
    ids: str | None = None
    """A text file that names the image of each row of ``features``, if that file does not."""
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
    follow_links: bool = True
    """For a folder: whether links that lead out of it are followed; if not, they are left out."""

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

    @model_validator(mode="after")
    def _check_features(self) -> "DataConfig":
        folder = self.name not in DATASETS and not is_features_file(self.name)
        if self.features is not None and not folder:
            raise InputError(
                "data.features", expected="nothing, unless data.name is a folder of images",
                got=f"{self.features} for {self.name}", fix="To use features alone, name their file in data.name.",
            )  # fmt: skip
        if self.ids is not None and self.features is None:
            raise InputError(
                "data.ids", expected="nothing without data.features", got=self.ids,
                fix="Name the features file in data.features.",
            )  # fmt: skip
        return self

    @property
    def holds_vectors(self) -> bool:
        """Whether the learner sees features from a file instead of pixels."""
        return self.features is not None or (self.name not in DATASETS and is_features_file(self.name))


def _read_extractor(key: str, name: str, *others: str) -> str:
    """Return the name of an extractor with absolute paths; raise InputError if there is none of this name."""
    try:
        find_maker(name)
    except InputError as error:
        extractors = error.expected.rpartition(", or a ")[0].removeprefix("one of ")
        raise InputError(
            key, expected=f"one of {', '.join((*others, extractors))}", got=error.got, fix=error.fix
        ) from error
    return absolute_name(name)


class EnsembleConfig(Section):
    """The members of the ensemble: samples of the version space."""

    _unwritten_defaults = ("extractor",)
    net: str = "small"
    """conv2, conv3, conv6, resnet18, small, heads, or ``package.module:function`` that returns your own network. With
    features from a file: heads, which is then the default, or your own."""
    members: int = Field(20, ge=1)
    extractor: str = DEFAULT_EXTRACTOR
    """For heads: lite0, lite1, lite2, hf:NAME_OR_FOLDER, timm:NAME, torchvision:NAME, onnx:FILE, or
    ``package.module:function`` that returns your own extractor. Paths are made absolute."""

    @field_validator("extractor")
    @classmethod
    def _check_extractor(cls, extractor: str) -> str:
        return _read_extractor("ensemble.extractor", extractor)

    @model_validator(mode="after")
    def _check_use(self) -> "EnsembleConfig":
        if self.extractor != DEFAULT_EXTRACTOR and self.net != "heads":
            raise InputError(
                "ensemble.extractor", expected=f"none, since {self.net} sees pixels", got=repr(self.extractor),
                fix='Leave it out, or set ensemble.net = "heads".',
            )  # fmt: skip
        return self

    @field_validator("net")
    @classmethod
    def _check_net(cls, net: str) -> str:
        module, _, function = net.partition(":")
        if net not in SIZES and not all((*module.split("."), function)):  # relative names such as .nets:small too
            raise ValueError(f"one of {', '.join(SIZES)}, or package.module:function")
        return net


class QueryConfig(Section):
    """The choice of images to label."""

    _unwritten_defaults = ("features",)
    method: str = "gvd"
    size: int = Field(10, ge=1)
    """Number of images per round."""
    vote: Literal["soft", "hard"] = "soft"
    """The vote that gvd and its variants compare members with; other methods ignore it."""
    member: int | Literal["all"] = 0
    """The member that bald, coreset, dfal, badge and batchbald use."""
    passes: int = Field(20, ge=2)
    """Number of Monte-Carlo dropout passes of bald and batchbald."""
    features: str = "auto"
    """The features in which methods measure distances: "members", "pixels" or an extractor such as "lite0". By default
    those that the learner sees the images through, or else the members' own. coreset uses the members' unless another
    source is named; badge always does."""

    @field_validator("features")
    @classmethod
    def _check_features(cls, features: str) -> str:
        sources = ("auto", "members", "pixels")
        return features if features in sources else _read_extractor("query.features", features, *sources)

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

    _unwritten_defaults = ("target",)
    when: str = ""
    """Rules joined by | and &: ``"flat(3, 0.002) & audit(0.9)"``; see docs/campaigns.md."""
    target: float = Field(0.8, gt=0, lt=1)
    """The accuracy that the audit must assure before the labelling page advises to stop."""


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

    _unwritten_defaults = ("method",)
    method: str = "maxherding"
    """A query method that needs no model."""
    size: int | None = Field(None, ge=1)
    """Number of labels before the first model; by default two for each class, but at most 15% of the budget."""

    @field_validator("method")
    @classmethod
    def _check_method(cls, method: str) -> str:
        possible = [name for name in names() if find(name).works_without_members]
        if method not in possible:
            raise ValueError(f"one of {', '.join(possible)}, which need no model")
        return method


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

    @model_validator(mode="before")
    @classmethod
    def _use_heads(cls, values: Any) -> Any:
        """Set ``ensemble.net`` to heads if it is not set and the learner sees features from a file."""
        data, ensemble = (values.get(name, {}) if isinstance(values, dict) else None for name in ("data", "ensemble"))
        if not isinstance(data, dict) or not isinstance(ensemble, dict) or "net" in ensemble:
            return values
        name = data.get("name")
        on_file = isinstance(name, str) and name not in DATASETS and is_features_file(name)
        return values | {"ensemble": ensemble | {"net": _ON_VECTORS}} if on_file or data.get("features") else values

    @model_validator(mode="after")
    def _check_net(self) -> "Config":
        net = self.ensemble.net
        if self.data.holds_vectors and net in SIZES and net != _ON_VECTORS:
            raise InputError(
                "ensemble.net", expected=f"{_ON_VECTORS}, since {self.data.features or self.data.name} holds features",
                got=f"{net}, which sees pixels", fix=f"Leave it out, or set it to {_ON_VECTORS} or your own network.",
            )  # fmt: skip
        return self

    @model_validator(mode="after")
    def _check_sources(self) -> "Config":
        """Reject extractors and pixels where the items are vectors."""
        named = {
            "ensemble.extractor": (self.ensemble.extractor, (DEFAULT_EXTRACTOR,)),
            "query.features": (self.query.features, ("auto", "members")),
        }
        for key, (value, possible) in named.items():
            if self.data.holds_vectors and value not in possible:
                raise InputError(
                    key, expected=f"none, since {self.data.features or self.data.name} holds features",
                    got=repr(value), fix="Leave it out.",
                )  # fmt: skip
        return self

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
        if not find(method).features:
            values["query"]["features"] = "auto"
        return Config.model_validate(values)
