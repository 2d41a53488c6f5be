"""One round: fit the members on the labels, measure their version space, and choose which images to ask for next.

A round is a function of the config, the images and the events before it. It writes its votes and weights and returns
the events to commit. If it is killed before they are committed, running it again gives bitwise the same result.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from versionspace import rng
from versionspace.campaign import stop_rules
from versionspace.campaign.choice import Candidates, choose
from versionspace.campaign.file_features import FileFeatures, computed_from_files
from versionspace.campaign.first_ensemble import FirstEnsemble
from versionspace.campaign.id_sets import among, without
from versionspace.campaign.image_features import MEMBERS, ImageFeatures, feature_source
from versionspace.campaign.images import CampaignImages
from versionspace.campaign.learner import Learner, load_learner, make_learner, training_of
from versionspace.campaign.metrics import audit_metrics, kappa, set_metrics
from versionspace.config import Config, Policy
from versionspace.data import progress_bar
from versionspace.ensemble import GroupTrainer, Normalisation, Opinions
from versionspace.errors import InputError
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
from versionspace.types import Array, ArrayLike, ImageId, Ints

SPENT, EXHAUSTED = "budget", "the pool is exhausted"
UNLABELLED = "the pool is exhausted and no image has a label"
ENDS = (SPENT, EXHAUSTED, UNLABELLED)
"""Reasons for which a campaign ends without a stop rule."""


@dataclass(frozen=True)
class Step:
    """The stage that a round has reached."""

    round: int
    stage: str
    """"fit", "predict", "measure" or "query"."""
    share: float = 0.0
    """How much of a fit is done, from 0 to 1."""


def ignore_step(step: Step) -> None:
    """Do nothing."""


def proposal_event(round_: int, part: int, purpose: str, ids: Array, utilities: Array) -> Event:
    """Return the event that asks for images, best first."""
    proposed = Proposed(part, purpose, as_ids(ids), tuple(np.asarray(utilities).tolist()))
    return Event("proposed", round_, proposed.to_body())


@dataclass(frozen=True)
class _Fitted:
    """The members of a round, what they were trained on, and what they predict."""

    number: int
    state: State
    labels: Mapping[ImageId, str]
    learner: Learner
    opinions: Mapping[str, Opinions]
    """By set of images."""
    reference_probs: Array
    """(M, T, C)"""


class RoundRunner:
    """Runs the rounds of one campaign.

    Args:
        config: the campaign's.
        images: the campaign's.
        folder: where votes and weights are written.
        first_ensemble: in a grid, where its methods share the first ensemble.
        threads: CPU threads; None: all cores.
        report: called with each `Step`, also from the threads that train.
        on_opinions: called with the members' predictions on each set of images, once in a round.
        trainer: trains groups of members elsewhere; None: on this machine.
    """

    def __init__(
        self,
        config: Config,
        images: CampaignImages,
        folder: CampaignFolder,
        *,
        first_ensemble: FirstEnsemble | None = None,
        threads: int | None = None,
        report: Callable[[Step], None] = ignore_step,
        on_opinions: Callable[[Mapping[str, Opinions]], None] | None = None,
        trainer: GroupTrainer | None = None,
    ) -> None:
        self.config, self.images, self.folder, self.first_ensemble = config, images, folder, first_ensemble
        self.threads, self.report, self.on_opinions = threads, report, on_opinions
        self.policy, self.trainer = Policy.of(config), trainer
        self.rule = stop_rules.parse_rule(config.stop.when)
        self.features = ImageFeatures(config, images, threads)
        self._normalisation: Normalisation | None = None

    def use(self, images: CampaignImages) -> None:
        """Run the following rounds on these images."""
        self.images, self.features = images, ImageFeatures(self.config, images, self.threads)

    def prepare(self) -> CampaignImages:
        """Compute the features that are still lacking if they come straight from files; return the images to run on.

        Images that cannot be decoded are left out and count as missing.
        """
        if computed_from_files(self.config) and self.images.decoded_on_access:
            features = FileFeatures(self.config, self.images, self.threads)
            lacking = features.lacking(np.arange(len(features.store.ids)))
            with progress_bar("computing features", len(lacking), None if len(lacking) else False) as advance:
                features.compute(lacking, advance)
            self.use(features.campaign_images())
        return self.images

    def run(self, state: State, number: int, *, size: int | None = None) -> list[Event]:
        """Fit, predict, measure and choose; return the events to commit together.

        ``size``: images to ask for, by default the config's. Raises InputError if no image has a label.
        """
        labels, seconds = _training_labels(state), dict[str, float]()
        learner = self._fit(state, labels, number, seconds)
        with self._stage(number, "predict", seconds):
            fitted = self._predict(state, labels, number, learner)
        with self._stage(number, "measure", seconds):
            metrics = self._measure(fitted)
        left = self._labels_left(state)
        reason = self._reason_to_stop(state, metrics, left)
        if self._saves_weights(state, last=bool(reason)):
            metrics = replace(metrics, weights_sha256=self._save_weights(fitted))
        if reason:
            following = Event("ended", number, {"why": reason})
        else:
            with self._stage(number, "query", seconds):
                following = self._choose(fitted, min(size or self.config.query.size, left))
        return [Event("measured", number, metrics.to_body(), environment={"seconds": seconds}), following]

    def askable(self, state: State) -> Array:
        """Return the ids that may be asked for: never asked before, or unanswered in a round that was closed."""
        askable = self.images.roles.askable()
        taken = [i for i, (ask, _) in state.places.items() if i in state.labels or not ask.closed]
        return without(askable, np.array(taken, askable.dtype))

    def delete_intermediate_weights(self, state: State) -> None:
        """Delete the weights of rounds that are neither first nor last, if the config keeps only those."""
        if self.config.keep != "ends":
            return
        kept = {min(state.metrics, default=0), max(state.metrics, default=0)}
        for path in self.folder.path.glob("weights/round-*"):
            if int(path.name.removeprefix("round-")) not in kept:
                shutil.rmtree(path)

    @contextmanager
    def _stage(self, number: int, name: str, seconds: dict[str, float]) -> Iterator[None]:
        """Report a stage, and record its duration in ``seconds``."""
        self.report(Step(number, name))
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds[name] = time.perf_counter() - start

    def _fit(self, state: State, labels: Mapping[ImageId, str], number: int, seconds: dict[str, float]) -> Learner:
        """Return the fitted members. Those of the first round may have been fitted for another method of the grid."""
        if self.first_ensemble is None or state.metrics:
            with self._stage(number, "fit", seconds):
                return self.train(state, labels, number)

        def train() -> Learner:
            self.report(Step(number, "fit"))
            return self.train(state, labels, number)

        def load(weights: Path) -> Learner:
            return load_learner(self.config, weights, self.threads)

        first = self.first_ensemble.train_or_load(self.config, labels, train, load)
        seconds["fit"] = first.seconds
        return first.learner

    def train(self, state: State, labels: Mapping[ImageId, str], number: int) -> Learner:
        """Return members that are fitted on these labels with the random seeds of a round."""
        truth = self._present_truth("validation", state)
        validation = None if truth is None else (self.images.of("validation"), truth)
        training = training_of(self.config, validation is not None)
        learner = make_learner(
            self.config, len(state.classes), lambda: self.images.of("pool"), training=training,
            normalisation=self._normalisation, threads=self.threads, trainer=self.trainer,
            progress=self._progress(number, self.config.ensemble.members * training.epochs),
        )  # fmt: skip
        self._normalisation = learner.normalisation
        classes = np.array([state.classes.index(name) for name in labels.values()], np.int64)
        return learner.fit(self._pixels(labels), classes, validation=validation, round=number)

    def _progress(self, number: int, most_epochs: int) -> Callable[[int, int], None]:
        """Return a function to call, from any thread, with epochs that were run and members that ended."""
        lock = threading.Lock()
        epochs_run = 0

        def progress(epochs: int, ended: int) -> None:
            nonlocal epochs_run
            with lock:
                epochs_run += epochs
                share = min(1.0, epochs_run / most_epochs)
            self.report(Step(number, "fit", share))

        return progress

    def _predict(self, state: State, labels: Mapping[ImageId, str], number: int, learner: Learner) -> _Fitted:
        names = ["test", "validation", "reference", "audit", *(["pool"] if self.config.measure.pool else [])]
        opinions = {
            name: learner.opinions(self.images.of(name)) for name in names if len(getattr(self.images.roles, name))
        }
        reference_probs = learner.predict_proba(self.images.of(self.images.reference_set), members=True)
        if self.on_opinions is not None:
            self.on_opinions(opinions)
        return _Fitted(number, state, labels, learner, opinions, reference_probs)

    def _measure(self, fitted: _Fitted) -> RoundMetrics:
        """Return the round's metrics; write its votes."""
        labels, opinions, reference = fitted.labels, fitted.opinions, self.images.reference_set
        sets = {
            name: set_metrics(opinion.votes, opinion.majority, self._truth(name, fitted.state))
            for name, opinion in opinions.items()
            if name != "audit"
        }
        vote = opinions[reference].majority
        arrays = {"reference_vote": vote} | ({"test": opinions["test"].votes} if "test" in opinions else {})
        if len(ids := getattr(self.images.roles, reference)) < len(getattr(self.images.all_roles, reference)):
            arrays["reference_ids"] = ids
        fits = [history.fit for history in fitted.learner.history_]
        return RoundMetrics(
            labels=len(labels),
            classes={name: sum(n == name for n in labels.values()) for name in fitted.state.classes},
            fit=float(np.mean(fits)),
            consistent=float(np.mean([fit == 1.0 for fit in fits])),
            epochs=float(np.mean([history.epochs for history in fitted.learner.history_])),
            diameter=sets[reference].pwd,
            kappa=self._kappa(fitted.state, fitted.number, vote),
            audit=self._audit(fitted),
            sets=sets,
            votes_sha256=write_arrays(self.folder.votes(fitted.number), arrays),
        )

    def _truth(self, name: str, state: State) -> Array | None:
        if name in ("pool", "reference") and not self.policy.trust_folder_labels:
            return None
        return self._present_truth(name, state)

    def _present_truth(self, name: str, state: State) -> Array | None:
        """Return the true classes of a set, by number among the present classes; None if one is unknown or deleted."""
        truth = self.images.truth(name)
        if truth is None or not state.class_list.edits:
            return truth
        now = tuple(map(state.class_list.current, self.images.dataset.classes))
        numbers = _class_numbers(now, state.classes)[truth]
        return numbers if (numbers < len(state.classes)).all() else None

    def _kappa(self, state: State, number: int, vote: Array) -> float | None:
        """Return the agreement with the vote of the round before, on the images that were present in both.

        Ids ascend, so both votes are in the same order. A vote for a class that was deleted since agrees with none.
        """
        path = self.folder.votes(number - 1)
        if number == 1 or not path.exists():
            return None
        before, reference = read_arrays(path), self.images.reference_set
        ids_before = before.get("reference_ids", getattr(self.images.all_roles, reference))
        ids = getattr(self.images.roles, reference)
        common = among(ids_before, ids)
        if not common.any():
            return None
        vote_before = before["reference_vote"][common]
        if state.class_list.edits:
            vote_before = _class_numbers(state.model_classes[number - 1], state.classes)[vote_before]
        return kappa(vote_before, vote[among(ids, ids_before)])

    def _audit(self, fitted: _Fitted) -> AuditMetrics | None:
        """Return the accuracy on the audit; None if none of it is labelled. It may have been extended by references."""
        state, roles = fitted.state, self.images.roles
        votes = {
            i: vote
            for name in ("audit", "reference") if name in fitted.opinions
            for i, vote in zip(as_ids(getattr(roles, name)), fitted.opinions[name].majority.tolist(), strict=True)
        }  # fmt: skip
        asked = [i for ask in state.asks if ask.purpose == "audit" for i in ask.ids if i in votes and i in state.labels]
        names = {i: state.labels[i].name for i in asked}
        answers = {i: state.classes.index(name) for i, name in names.items() if name is not None}
        if not answers:
            return None
        return audit_metrics(votes, answers, fitted.number, self.config.budget.confidence)

    def _labels_left(self, state: State) -> int:
        """Return how many labels may still be asked for. Those of open asks are reserved."""
        waiting = sum(len(state.unanswered(ask)) for ask in state.asks if not ask.closed)
        return state.budget(self.config.budget.total) - state.spent() - waiting

    def _reason_to_stop(self, state: State, metrics: RoundMetrics, left: int) -> str:
        if left <= 0:
            return SPENT
        if len(self.askable(state)) == 0:
            return EXHAUSTED
        rounds = [state.metrics[number] for number in sorted(state.metrics)] + [metrics]
        return self.rule.reason(rounds) if self.rule and not state.ignores_rules else ""

    def _saves_weights(self, state: State, *, last: bool) -> bool:
        every_round = self.config.keep == "all" or self.policy.keep_every_round
        return self.config.keep != "none" and (every_round or last or not state.metrics)

    def _save_weights(self, fitted: _Fitted) -> dict[str, str]:
        """Write the members' weights and return their checksums. The first ensemble of a grid is on disk already."""
        shared = self.first_ensemble if not fitted.state.metrics else None
        save = fitted.learner.save if shared is None else shared.copy_weights
        return write_folder(self.folder.weights(fitted.number), save)

    def _choose(self, fitted: _Fitted, size: int) -> Event:
        ids = self.askable(fitted.state)
        votes = None
        if "pool" in fitted.opinions:
            votes = fitted.opinions["pool"].votes[:, among(self.images.roles.pool, ids)]
        labelled = np.asarray(list(fitted.labels), self.images.roles.pool.dtype)
        of_images = None
        if feature_source(self.config) != MEMBERS:
            of_images = lambda: (self.features.of(ids), self.features.of(labelled))  # noqa: E731
        candidates = Candidates(ids, lambda: self.images.pixels(ids), votes, self._pixels(fitted.labels), of_images)
        choice = choose(
            self.config.query, min(size, len(ids)), fitted.learner, candidates, fitted.reference_probs,
            len(fitted.state.classes), seed=rng.key(self.config.seed, "query", fitted.number),
        )  # fmt: skip
        return proposal_event(fitted.number, 0, "query", choice.ids, choice.utilities)

    def _pixels(self, ids: Mapping[ImageId, str]) -> ArrayLike:
        return self.images.pixels(np.asarray(list(ids), self.images.roles.pool.dtype))


def _class_numbers(names: Sequence[str | None], classes: Sequence[str]) -> Ints:
    """Return the number of each name among the classes; their count for a name that is none of them.

    >>> _class_numbers(("cat", None, "dog"), ["dog", "cat"]).tolist()
    [1, 2, 0]
    """
    return np.array([classes.index(name) if name in classes else len(classes) for name in names], np.int64)


def _training_labels(state: State) -> dict[ImageId, str]:
    labels = state.training_labels()
    if not labels:
        raise InputError(
            "labels", expected="at least one label to train on",
            got="none" + (f", since {len(state.missing)} images are missing" if state.missing else ""),
            fix="Label an image, or put the missing files back.",
        )  # fmt: skip
    return labels
