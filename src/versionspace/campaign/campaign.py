"""A campaign: propose images and accept answers until the budget is spent. Whatever is shown was committed first."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from versionspace import rng
from versionspace.campaign.class_edits import ClassEdits
from versionspace.campaign.cold_start import choose_first, cold_start_size
from versionspace.campaign.datasets import Datasets, with_features, with_images
from versionspace.campaign.environment import (
    TRUTH,
    environment_events,
    reject_other_classes,
    reject_other_features,
    reject_other_labels,
)
from versionspace.campaign.final_model import final_model_due, train_final_model
from versionspace.campaign.first_ensemble import FirstEnsemble
from versionspace.campaign.id_sets import among, without
from versionspace.campaign.images import CampaignImages, missing_message, restore_images
from versionspace.campaign.results import Results
from versionspace.campaign.round import ENDS, UNLABELLED, RoundRunner, Step, ignore_step, proposal_event
from versionspace.campaign.setup import create_folder, has_no_work, write_config
from versionspace.campaign.validation import pool_labels, validate_campaign
from versionspace.config import Config, Policy
from versionspace.ensemble import GroupTrainer
from versionspace.errors import InputError
from versionspace.oracle import Simulated
from versionspace.store import (
    Answered,
    Ask,
    CampaignFolder,
    Event,
    Ledger,
    Lock,
    State,
    StoreError,
    read_arrays,
    read_stored_config,
    replay,
    write_arrays,
)
from versionspace.types import ImageId

_log = logging.getLogger("versionspace.campaign")

Class = int | str
"""A class by its number or its name."""


@dataclass(frozen=True)
class Proposal:
    """Images to label, best first. Those that were answered already are left out."""

    ids: tuple[ImageId, ...]
    utilities: tuple[float, ...]
    round: int
    part: int
    purpose: str
    """"audit", "initial", "cold start" or "query"."""
    classes: tuple[str, ...]
    files: tuple[str, ...] | None = None
    """For a folder of images: the file of each, relative to the folder."""
    paths: tuple[Path, ...] | None = None
    """The absolute path of each of these files."""


class Campaign(Results, ClassEdits):
    """Algorithm 1 of the paper, on a dataset or with a person. Make one with `create` or `open`.

    >>> import tempfile
    >>> from versionspace.config import read_config
    >>> config = read_config("demo", ["ensemble.members=2", "training.epochs=2", "budget.total=20"])
    >>> with tempfile.TemporaryDirectory() as folder, Campaign.create(folder, config) as campaign:
    ...     oracle = campaign.oracle()
    ...     for proposal in campaign:
    ...         campaign.accept(oracle.answer(proposal.ids))
    ...     campaign.state.ended, campaign.state.spent()
    ('budget', 20)
    """

    def __init__(
        self, folder: CampaignFolder, config: Config, lock: Lock, ledger: Ledger, state: State, images: CampaignImages,
        runner: RoundRunner, accept_different: bool,
    ) -> None:  # fmt: skip
        self.folder, self.config, self.state = folder, config, state
        self.images, self.dataset, self.runner = images, images.dataset, runner
        self._lock, self._ledger, self._accept_different = lock, ledger, accept_different
        self._listeners: list[Callable[[Event], None]] = []

    @classmethod
    def create(
        cls, folder: Path | str, config: Config, *, images: Path | None = None, datasets: Datasets | None = None,
        **options: Any,
    ) -> "Campaign":  # fmt: skip
        """Begin a campaign in a new folder, or resume one that has this config. ``options`` are those of `open`.

        Raises InputError, before anything is written, if the campaign cannot run or the folder has another config.
        """
        path, datasets = Path(folder), datasets or Datasets()
        if has_no_work(CampaignFolder(path)):
            validate_campaign(config if images is None else with_images(config, images), datasets)
        create_folder(path, config)
        return cls.open(path, images=images, datasets=datasets, **options)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        shared: Path | None = None,
        threads: int | None = None,
        report: Callable[[Step], None] = ignore_step,
        accept_different: bool = False,
        images: Path | None = None,
        features: Path | None = None,
        ids: Path | None = None,
        datasets: Datasets | None = None,
        trainer: GroupTrainer | None = None,
    ) -> "Campaign":
        """Resume a campaign, or begin one whose folder has only a config.

        Args:
            folder: the campaign's.
            shared: where the methods of a grid share the first ensemble.
            threads: CPU threads; None: all cores. Changes no result.
            report: called with each step of a round, also from the threads that train.
            accept_different: resume even if torch, NumPy or the CPU changed; what a person labels resumes anyway.
            images: the folder of images, or the features file, if it was moved since the campaign began.
            features, ids: the files of ``data.features`` and ``data.ids``, if they were moved.
            datasets, trainer: datasets that this process has opened before; what trains groups of members elsewhere.

        Raises StoreError if the folder holds no campaign, is in use or damaged, or if something changed that results
        depend on; InputError if images are missing or a new campaign cannot run.
        """
        paths = CampaignFolder(Path(folder))
        if not paths.config.is_file():
            raise StoreError(
                str(folder), expected="a campaign's folder, with campaign.toml in it", got="none",
                fix="Begin one with Campaign.create or `versionspace run`.",
            )  # fmt: skip
        paths.reject_lost_ledger()
        stored = read_stored_config(paths.config)
        with contextlib.ExitStack() as on_error:
            lock = Lock(paths.path).take()
            on_error.callback(lock.close)
            ledger = Ledger.open(paths.ledger)
            on_error.callback(ledger.close)
            paths.remove_unfinished()
            config = with_features(stored if images is None else with_images(stored, images), features, ids)
            state = replay(ledger.events(), ledger=ledger.path)
            campaign_images = _open_images(paths, config, state, datasets or Datasets())
            first_ensemble = None if shared is None else FirstEnsemble(shared)
            events = environment_events(
                config, campaign_images.dataset, state, threads=threads, accept_different=accept_different,
                first_ensemble=None if first_ensemble is None else first_ensemble.numerics(),
            )  # fmt: skip
            runner = RoundRunner(config, campaign_images, paths, first_ensemble=first_ensemble, threads=threads,
                                 report=report, trainer=trainer)  # fmt: skip
            campaign = cls(paths, config, lock, ledger, state, campaign_images, runner, accept_different)
            if events:
                campaign.commit(events)
            if config != stored:
                write_config(paths, config)
            campaign._begin()
            on_error.pop_all()
        return campaign

    def _begin(self) -> None:
        """Commit the roles of the images if the campaign is new; warn about images that are missing if it is not."""
        if self.state.split is None:
            sha256 = write_arrays(self.folder.split, self.images.arrays())
            counts = {name: len(ids) for name, ids in self.images.roles.arrays().items()}
            truth = {TRUTH: self.images.digest()} if self.runner.policy.reproducible else {}
            self.commit([Event("split", 0, {"sha256": sha256, "images": counts, **truth})])
        self.state.missing = self.images.missing
        if (images := self.images).missing:
            _log.warning("%s", missing_message(images.missing, images.files, images.all_roles.total))

    def propose(self) -> Proposal | None:
        """Return the images to label next, committed before they are returned; None when the campaign has ended.

        Trains when a round is due, and at the end the final model. Until all images are answered, returns what is left.
        """
        while not self.state.ended:
            for ask in self.state.asks:
                if self.state.is_open(ask):
                    return self._proposal(ask)
            self.close_round()  # what is still unanswered are missing images
            self.commit(self._next_events())
            self.runner.delete_intermediate_weights(self.state)
        if final_model_due(self.runner, self.state):
            self.commit([train_final_model(self.runner, self.state)])
        return None

    def accept(
        self, answers: Mapping[ImageId, Class | None], *, who: str = "", shown: Mapping[str, Any] | None = None,
        uids: Mapping[ImageId, str] | None = None,
    ) -> None:  # fmt: skip
        """Commit answers, all or none; they are durable when it returns.

        Args:
            answers: the class of each image by number or name; None skips the image, which is then not asked for again.
                Answers may be partial, late, and may correct earlier ones.
            who: the person who answers.
            shown: what the person saw of the model's guess, stored with the answer.
            uids: a unique id for each answer; an answer that is sent twice counts once.

        Raises InputError, and commits nothing, if an image was never asked for or a class is unknown.
        """
        events = []
        for given, answer in answers.items():
            image: ImageId = given.item() if isinstance(given, np.generic) else given
            if image not in self.state.places:
                raise InputError(
                    "answers", expected="images that this campaign has asked for", got=repr(image),
                    fix="Answer the ids of a proposal: they are the images' own, not positions.",
                )  # fmt: skip
            ask, rank = self.state.places[image]
            answered = Answered(image, self._class(answer), ask.part, rank, shown or {})
            events.append(Event("answered", ask.round, answered.to_body(), who=who, uid=(uids or {}).get(image)))
        self.commit(events)

    def close_round(self) -> None:
        """Continue without the answers that this round still lacks. They may be given later.

        Raises InputError for the audit: leaving out images that are hard to label would overestimate the accuracy.
        """
        if {ask.purpose for ask in self.state.asks if self.state.is_open(ask)} == {"audit"}:
            raise InputError(
                "close_round", expected="a round that may be closed", got="the audit",
                fix="Answer its images; {id: None} skips those that cannot be labelled.",
            )  # fmt: skip
        if any(self.state.is_unfinished(ask) for ask in self.state.asks if ask.purpose != "audit"):
            self.commit([Event("closed", self.state.round)])

    @property
    def budget(self) -> int:
        """The number of labels that may be given."""
        return self.state.budget(self.config.budget.total)

    def reopen(self, budget: int | None = None) -> None:
        """Continue a campaign that has ended: until ``budget`` is spent, or by default to train on corrected labels.

        With a budget, the stop rule that ended the campaign no longer counts. The budget of a campaign that has not
        ended changes at once. Raises InputError if more labels are given already than the budget allows.
        """
        least = max(1, self.state.spent())
        total = max(self.budget, least) if budget is None else budget
        if isinstance(total, bool) or not isinstance(total, int) or total < least:
            raise InputError(
                "budget", expected=f"at least {least}, the labels that are given already", got=repr(budget),
                fix="To stop here, leave the campaign as it is.",
            )  # fmt: skip
        if not self.state.ended and total == self.budget:
            return
        ended_by_rule = self.state.ended not in ("", *ENDS)
        past = {"rules": "past"} if ended_by_rule and budget is not None else {}
        resumed = []
        if self.state.ended and self.runner.policy.reproducible:
            resumed = environment_events(
                self.config, self.dataset, self.state, threads=self.runner.threads,
                accept_different=self._accept_different, reopening=True,
            )  # fmt: skip
        self.commit([*resumed, Event("reopened", self.state.round, {"total": total, **past})])

    def oracle(self) -> Simulated:
        """Return an oracle that answers from the dataset's own labels, with the config's noise and abstentions."""
        labels, settings, pool = pool_labels(self.config, self.images), self.config.oracle, self.images.roles.pool
        classes = len(self.dataset.classes)
        return Simulated(pool, labels, classes, settings.noise, settings.abstain, seed=self.config.seed)

    def run(self) -> "Campaign":
        """Run to the end with the dataset's own labels as answers."""
        oracle = self.oracle()
        for proposal in self:
            self.accept(oracle.answer(proposal.ids), who="simulated")
        return self

    def __iter__(self) -> Iterator[Proposal]:
        """Yield proposals until the end; each must be answered, or its round closed, before the next."""
        before: tuple[int, int] | None = None
        while (proposal := self.propose()) is not None:
            if before == (proposal.round, self.state.last_event):
                raise InputError(
                    "answers", expected="campaign.accept or campaign.close_round between proposals", got="neither",
                    fix="Pass {id: None} for images that cannot be labelled.",
                )  # fmt: skip
            before = (proposal.round, self.state.last_event)
            yield proposal

    def close(self) -> None:
        """Close the ledger and release the lock."""
        self._ledger.close()
        self._lock.close()

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(self, events: Sequence[Event]) -> None:
        """Append events to the ledger, all or none, and update the state; they are durable when it returns."""
        self._ledger.append(events)
        committed = self._ledger.events(after=self.state.last_event)
        replay(committed, self.state)
        for listener in self._listeners:
            for event in committed:
                listener(event)

    def subscribe(self, listener: Callable[[Event], None]) -> None:
        """Call ``listener`` with every committed event: at once with those so far, then with each new one."""
        for event in self._ledger.events():
            if event.number <= self.state.last_event:
                listener(event)
        self._listeners.append(listener)

    def _next_events(self) -> list[Event]:
        """Return the events to commit next when no answer is awaited."""
        state, roles = self.state, self.images.roles
        asked = {ask.purpose for ask in state.asks}
        for purpose, ids in (("audit", roles.audit), ("initial", roles.initial)):
            if len(ids) and purpose not in asked:
                return [proposal_event(0, len(state.asks), purpose, ids, np.zeros(len(ids)))]
        state.missing = self.runner.prepare().missing
        if not state.metrics and (events := self._cold_start()):
            return events
        return self.runner.run(state, max(state.metrics, default=0) + 1)

    def _cold_start(self) -> list[Event]:
        """Return an ask for the first images to label; no events when it is time to train."""
        state, labels = self.state, self.state.training_labels()
        if labels and len(self.images.roles.initial):
            return []
        left, budget = self.runner.askable(state), self.budget - state.spent()
        size = cold_start_size(self.config, len(state.classes), self.budget) - len(labels)
        if not len(getattr(self.images.roles, self.images.reference_set)):  # no model can be measured
            size = budget
        if size <= 0 or budget <= 0 or len(left) == 0:
            return [] if labels else [Event("ended", 0, {"why": UNLABELLED})]
        ids = self.runner.images.roles.askable()
        asked = (places := np.array(list(state.places), ids.dtype))[among(places, ids)]
        fresh = without(left, asked)
        if len(fresh) == 0:  # only images of closed rounds are left: ask for them again
            asked, fresh = without(ids, left), left
        chosen, utilities = choose_first(
            self.config, self.runner.features, fresh, asked, min(size, budget, len(fresh)),
            rng.key(self.config.seed, "cold start", len(state.asks)),
        )  # fmt: skip
        return [proposal_event(0, len(state.asks), "cold start", chosen, utilities)]

    def _proposal(self, ask: Ask) -> Proposal:
        """Return what is left of an ask."""
        unanswered = set(self.state.unanswered(ask))
        left = [(i, utility) for i, utility in zip(ask.ids, ask.utilities, strict=True) if i in unanswered]
        ids, utilities = tuple(i for i, _ in left), tuple(utility for _, utility in left)
        paths = self._paths(ids)
        files = None if paths is None else tuple(self.images.files[image] for image in ids)
        return Proposal(ids, utilities, ask.round, ask.part, ask.purpose, tuple(self.state.classes), files, paths)

    def _class(self, answer: Class | None) -> str | None:
        if answer is None:
            return None
        classes = self.state.classes
        if isinstance(answer, str) and answer in classes:
            return answer
        is_number = isinstance(answer, int | np.integer) and not isinstance(answer, bool)
        if is_number and any(edit.changes_labels for edit in self.state.class_list.edits):
            raise InputError(
                "answers", expected=f"one of {', '.join(classes)}, or None", got=repr(answer),
                fix="Classes were merged or deleted, and numbers may mean others than before: pass names.",
            )  # fmt: skip
        if is_number and 0 <= int(answer) < len(classes):
            return classes[int(answer)]
        raise InputError(
            "answers", expected=f"a class from 0 to {len(classes) - 1}, one of {', '.join(classes)}, or None",
            got=repr(answer), fix="None skips an image; campaign.add_class adds a class.",
        )  # fmt: skip


def _open_images(folder: CampaignFolder, config: Config, state: State, datasets: Datasets) -> CampaignImages:
    """Return a campaign's images; raise if the dataset is not the one that it began with, or if it cannot begin."""
    dataset = datasets.open(config, folder.path if state.split is not None else None)
    if state.begun is not None:
        reject_other_features(config, dataset, state.begun)
        reject_other_classes(config, dataset, state.begun)
    if state.split is None:
        return validate_campaign(config, datasets)
    policy = Policy.of(config)
    images = restore_images(dataset, read_arrays(folder.split), allow_missing=policy.allow_missing)
    if policy.reproducible:
        reject_other_labels(images, state.split)
    return images
