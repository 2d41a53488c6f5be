"""One round: fit the members on the labels, measure their version space, and choose what to ask next.

A round is a function of the config, the images and the events before it. It writes its votes and weights and gives the
events that say what it found; committing them is the caller's. Killed before that, it is done again, to the same bits.

From a fitted ensemble to the images that a method asks for: only what the method needs is computed.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from versionspace import rng
from versionspace.campaign import stop_rules
from versionspace.campaign.first_ensemble import First
from versionspace.campaign.images import Pictures
from versionspace.campaign.learner import Learner, load_learner, make_learner, training_of
from versionspace.campaign.metrics import audit_metrics, kappa, set_metrics
from versionspace.campaign.setup import SAMPLED
from versionspace.config import Config, QueryConfig
from versionspace.ensemble.normalise import Normalisation
from versionspace.ensemble.predict import Opinions
from versionspace.errors import InputError
from versionspace.query import query
from versionspace.query.methods import TABLE
from versionspace.store import (
    AuditMetrics,
    CampaignFolder,
    Event,
    Proposed,
    RoundMetrics,
    State,
    as_ids,
    read_arrays,
    write_arrays,
    write_folder,
)
from versionspace.types import Array, ArrayLike, Floats, ImageId


@dataclass(frozen=True)
class Candidates:
    """What may be asked, and what is known of it."""

    ids: Array
    pixels: Callable[[], Array]
    """Most methods do not look at them."""
    votes: Array | None
    """(M, N) where they were computed for the metrics already."""
    labelled: Array
    """Images that have labels."""


@dataclass(frozen=True)
class Choice:
    """Ids, best first, and their utilities."""

    ids: Array
    utilities: Floats


def choose(
    config: QueryConfig,
    k: int,
    learner: Learner,
    found: Candidates,
    reference_probs: Array | None,
    classes: int,
    seed: int,
) -> Choice:
    """The k images that the method asks for first."""
    method = TABLE[config.method]
    one = config.member
    given: dict[str, Any] = {"ids": found.ids, "seed": seed}
    if method.pool == "votes":
        given["pool"] = learner.votes(found.pixels()) if found.votes is None else found.votes
        given["classes"] = classes
    elif config.method in SAMPLED and one != "all":
        given["pool"] = learner.mc_dropout_proba(found.pixels(), config.passes, one)
    elif method.pool == "probs":
        given["pool"] = learner.predict_proba(found.pixels())
    elif method.pool == "one member":
        given["pool"] = learner.predict_proba(found.pixels())[int(one)][None]
    if method.diameter is not None:
        given["reference"] = reference_probs
    if method.takes_vote:
        given["vote"] = config.vote
    if method.features:
        given["features"] = _features(learner, found.pixels(), one)
    if method.labelled:
        given["labelled_features"] = _features(learner, found.labelled, one)
    if method.perturbations:
        sizes = learner.perturbations(found.pixels(), one)
        given["perturbations"] = sizes.mean(axis=0) if one == "all" else sizes
    ids, utilities = query(config.method, k, return_utilities=True, **given)
    return Choice(ids, utilities)


def _features(learner: Learner, images: Array, member: Any) -> Array:
    """Of one member (N, F), or of all side by side (N, M·F)."""
    found = learner.features(images, member)
    return np.concatenate(list(found), axis=1) if member == "all" else found


SPENT, EXHAUSTED = "budget", "the pool is exhausted"
UNLABELLED = "the pool is exhausted and no image has a label"
ENDS = (SPENT, EXHAUSTED, UNLABELLED)
"""Why a campaign ends, where it is not by a rule."""


@dataclass(frozen=True)
class Step:
    """Where a round is, for whoever shows it."""

    round: int
    stage: str
    """"fit", "predict", "measure" or "query"."""
    share: float = 0.0
    """Of the fit: from 0 to 1."""


def quiet(step: Step) -> None:
    """Shows nothing."""


class Rounds:
    """All that rounds of one campaign have in common.

    ``report`` hears of each step; ``seen`` of what the members of a round said of each set of images.
    """

    def __init__(
        self,
        config: Config,
        pictures: Pictures,
        folder: CampaignFolder,
        *,
        first: First | None = None,
        threads: int | None = None,
        report: Callable[[Step], None] = quiet,
        seen: Callable[[Mapping[str, Opinions]], None] | None = None,
    ) -> None:
        self.config, self.pictures, self.folder, self.first = config, pictures, folder, first
        self.threads, self.report, self.seen = threads, report, seen
        self._normalisation: Normalisation | None = None
        self.rule = stop_rules.parse_rule(config.stop.when)

    def compute(self, state: State, round_: int) -> list[Event]:
        """Fits, measures and chooses; the events to commit, together."""
        seconds: dict[str, float] = {}
        given = state.training_labels()
        if not given:
            raise InputError(
                "labels", expected="one label at least to train on",
                got="none" + (f", since {len(state.missing)} images are missing" if state.missing else ""),
                fix="Label an image, or put the files back as they were.",
            )  # fmt: skip
        learner = self._learner(state, given, round_, seconds)
        with _timed(seconds, "predict"):
            self.report(Step(round_, "predict"))
            said = {name: learner.opinions(self.pictures.of(name)) for name in self._sets()}
            reference = learner.predict_proba(self.pictures.of(self.pictures.reference))
            if self.seen is not None:
                self.seen(said)
        with _timed(seconds, "measure"):
            self.report(Step(round_, "measure"))
            metrics = self._measured(state, given, round_, learner, said)
        rounds = [state.metrics[r] for r in sorted(state.metrics)] + [metrics]
        left = self._left(state)
        why = self._why_to_stop(state, rounds, left)
        if self.config.keep != "none" and self._kept(round_, state, bool(why)):
            checksums = write_folder(self.folder.weights(round_), self._saver(learner, state))
            metrics = replace(metrics, weights_sha256=checksums)
        if why:
            events = [Event("ended", round_, {"why": why})]
        else:
            with _timed(seconds, "query"):
                self.report(Step(round_, "query"))
                events = [self._proposed(state, given, round_, learner, said, reference, left)]
        return [Event("measured", round_, metrics.to_body(), environment={"seconds": seconds}), *events]

    def forget_weights(self, state: State) -> None:
        """Removes weights of rounds that are neither first nor last, where only those are kept."""
        if self.config.keep != "ends":
            return
        keep = {min(state.metrics, default=0), max(state.metrics, default=0)}
        for path in self.folder.path.glob("weights/round-*"):
            if int(path.name.removeprefix("round-")) not in keep:
                shutil.rmtree(path)

    def _saver(self, learner: Learner, state: State) -> Callable[[Path], None]:
        """The first ensemble of a grid is on disk already."""
        return learner.save if self.first is None or state.metrics else self.first.link

    def _sets(self) -> list[str]:
        wanted = ["test", "validation", "reference", "audit", *(["pool"] if self.config.measure.pool else [])]
        return [name for name in wanted if len(getattr(self.pictures.cut, name))]

    def _learner(self, state: State, given: dict[ImageId, str], round_: int, seconds: dict[str, float]) -> Learner:
        """Fits the members; those of the first round may have been fitted for another method of the grid."""
        if self.first is None or state.metrics:
            with _timed(seconds, "fit"):
                return self._fitted(state, given, round_)
        seconds["fit"] = self.first.trained(self.config, given, lambda: self._fitted(state, given, round_))
        return load_learner(self.config, self.first.ensemble, self.threads)

    def _fitted(self, state: State, given: dict[ImageId, str], round_: int) -> Learner:
        truth = self.pictures.truth("validation")
        validation = None if truth is None else (self.pictures.of("validation"), truth)
        training = training_of(self.config, validation is not None)
        members = self.config.ensemble.members
        ran = 0

        def progress(epochs: int, ended: int) -> None:
            nonlocal ran
            ran += epochs
            self.report(Step(round_, "fit", min(1.0, ran / (members * training.epochs))))

        self.report(Step(round_, "fit"))
        learner = make_learner(
            self.config, len(state.classes), lambda: self.pictures.of("pool"), training=training,
            normalisation=self._normalisation, threads=self.threads, progress=progress,
        )  # fmt: skip
        self._normalisation = learner.normalisation
        labels = np.array([state.classes.index(name) for name in given.values()], np.int64)
        return learner.fit(self._images(given), labels, validation=validation, round=round_)

    def _images(self, ids: "dict[ImageId, str] | Array") -> ArrayLike:
        return self.pictures.pool(np.asarray(list(ids), self.pictures.cut.pool.dtype))

    def _measured(
        self, state: State, given: dict[ImageId, str], round_: int, learner: Learner, said: dict[str, Opinions]
    ) -> RoundMetrics:
        sets = {
            name: set_metrics(found.votes, found.majority, self._truth(name))
            for name, found in said.items()
            if name != "audit"
        }
        where = self.pictures.reference
        vote = said[where].majority
        arrays = {"reference_vote": vote} | ({"test": said["test"].votes} if "test" in said else {})
        if self.pictures.gone:
            arrays["reference_ids"] = getattr(self.pictures.cut, where)
        fits = [history.fit for history in learner.history_]
        return RoundMetrics(
            labels=len(given),
            classes={name: sum(n == name for n in given.values()) for name in state.classes},
            fit=float(np.mean(fits)),
            consistent=float(np.mean([fit == 1.0 for fit in fits])),
            epochs=float(np.mean([history.epochs for history in learner.history_])),
            diameter=sets[where].pwd,
            kappa=self._kappa(round_, vote),
            audit=self._audited(state, said.get("audit"), round_),
            sets=sets,
            votes_sha256=write_arrays(self.folder.votes(round_), arrays),
        )

    def _truth(self, name: str) -> Array | None:
        """A person's pool has no truth, whatever the names of its folders say."""
        if self.config.oracle.kind == "person" and name in ("pool", "reference"):
            return None
        return self.pictures.truth(name)

    def _kappa(self, round_: int, vote: Array) -> float | None:
        """On the images that were there both times; ids ascend, so those of the two votes are in one order."""
        path = self.folder.votes(round_ - 1)
        if round_ == 1 or not path.exists():
            return None
        before, where = read_arrays(path), self.pictures.reference
        then = before.get("reference_ids", getattr(self.pictures.whole, where))
        now = getattr(self.pictures.cut, where)
        kept = np.isin(then, now)
        return kappa(before["reference_vote"][kept], vote[np.isin(now, then)]) if kept.any() else None

    def _audited(self, state: State, said: Opinions | None, round_: int) -> AuditMetrics | None:
        if said is None:
            return None
        names = {i: state.labels[i].name for i in as_ids(self.pictures.cut.audit) if i in state.labels}
        answers = {i: state.classes.index(name) for i, name in names.items() if name is not None}
        if not answers:
            return None
        votes = dict(zip(as_ids(self.pictures.cut.audit), said.majority.tolist(), strict=True))
        return audit_metrics(votes, answers, round_, self.config.budget.confidence)

    def _left(self, state: State) -> int:
        """Labels that may still be asked for; those of open asks are spoken for."""
        waiting = sum(len(state.unanswered(ask)) for ask in state.asks if not ask.closed)
        return state.budget(self.config.budget.total) - state.spent() - waiting

    def _why_to_stop(self, state: State, rounds: Sequence[RoundMetrics], left: int) -> str:
        if left <= 0:
            return SPENT
        if len(self.candidates(state)) == 0:
            return EXHAUSTED
        return self.rule.reason(rounds) if self.rule and not state.ignores_rules else ""

    def _kept(self, round_: int, state: State, last: bool) -> bool:
        """A person may stop after any round and want her classifier."""
        return self.config.keep == "all" or not state.metrics or last or self.config.oracle.kind == "person"

    def candidates(self, state: State) -> Array:
        """Ids that may be asked: never asked before, or in a round that was closed before anybody answered."""
        askable = self.pictures.cut.askable()
        taken = [i for i, (ask, _) in state.places.items() if i in state.labels or not ask.closed]
        return askable[~np.isin(askable, np.array(taken, askable.dtype))]

    def _proposed(
        self, state: State, given: dict[ImageId, str], round_: int, learner: Learner, said: dict[str, Opinions],
        reference: Array, left: int,
    ) -> Event:  # fmt: skip
        ids = self.candidates(state)
        votes = None
        if "pool" in said:
            votes = said["pool"].votes[:, np.isin(self.pictures.cut.pool, ids)]
        found = choose(
            self.config.query, min(self.config.query.size, left, len(ids)), learner,
            Candidates(ids, lambda: self.pictures.pool(ids), votes, self._images(given)), reference, len(state.classes),
            seed=rng.key(self.config.seed, "query", round_),
        )  # fmt: skip
        return proposed(round_, 0, "query", found.ids, found.utilities)


def proposed(round_: int, part: int, purpose: str, ids: Array, utilities: Array) -> Event:
    """The event of a proposal."""
    scores = tuple(np.asarray(utilities).tolist())
    return Event("proposed", round_, Proposed(part, purpose, as_ids(ids), scores).to_body())


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = time.perf_counter() - start
