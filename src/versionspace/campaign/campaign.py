"""A campaign: propose images, accept answers, until the budget is spent. Whatever is shown was committed first."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from versionspace import rng
from versionspace.campaign.cold_start import select_diverse, simple_features
from versionspace.campaign.environment import TRUTH, agree, same_classes, same_truth
from versionspace.campaign.first_ensemble import First
from versionspace.campaign.images import Pictures, opened, restored, sentence
from versionspace.campaign.round import ENDS, UNLABELLED, Rounds, Step, proposed, quiet
from versionspace.campaign.setup import checked, keep, moved, place, truth_of_pool, untouched
from versionspace.config import Config
from versionspace.data import DATASETS, Dataset
from versionspace.data.folder.scan import is_folder
from versionspace.errors import InputError
from versionspace.oracle import Simulated
from versionspace.store import (
    Answered,
    Ask,
    CampaignFolder,
    Event,
    Ledger,
    Lock,
    StoreError,
    read_arrays,
    read_stored_config,
    replay,
    write_arrays,
)
from versionspace.text import printable
from versionspace.types import ImageId

_log = logging.getLogger("versionspace.campaign")

Class = int | str
"""A class by its number or its name."""


@dataclass(frozen=True)
class Proposal:
    """Images to label, best first; those that were answered already are left out."""

    ids: tuple[ImageId, ...]
    utilities: tuple[float, ...]
    round: int
    part: int
    purpose: str
    """"audit", "initial", "cold start" or "query"."""
    classes: tuple[str, ...]
    files: tuple[str, ...] | None = None
    """For a folder of images: where each lies, relative to the folder."""


class Campaign:
    """Algorithm 1 of the paper, on a dataset or with a person.

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
        self, folder: CampaignFolder, config: Config, ledger: Ledger, lock: Lock, dataset: Dataset,
        stored: Pictures | None, first: First | None, threads: int | None, report: Callable[[Step], None],
        accept_different: bool,
    ) -> None:  # fmt: skip
        self.folder, self.config, self.dataset = folder, config, dataset
        self._ledger, self._lock = ledger, lock
        self._threads, self._accept_different = threads, accept_different
        self._listeners: list[Callable[[Event], None]] = []
        self.state = replay(ledger.events(), ledger=ledger.path)
        self.pictures = stored or self._cut()
        self.state.missing = self.pictures.gone
        if self.state.missing:
            _log.warning("%s", sentence(self.state.missing, self.pictures.files, self.pictures.whole.total))
        self.rounds = Rounds(config, self.pictures, folder, first=first, threads=threads, report=report)
        self._features: np.ndarray[Any, Any] | None = None

    @classmethod
    def create(
        cls, folder: Path | str, config: Config, *, images: Path | None = None, **options: Any
    ) -> "Campaign":  # fmt: skip
        """Begins a campaign in a new folder, or goes on with one that has this very config."""
        path, dataset = Path(folder), None
        if untouched(CampaignFolder(path)):
            now = config if images is None else moved(config, images)
            dataset = opened(now)
            checked(now, dataset)
        place(path, config)
        return cls.open(path, images=images, dataset=dataset, **options)

    @classmethod
    def open(
        cls,
        folder: Path | str,
        *,
        shared: Path | None = None,
        threads: int | None = None,
        report: Callable[[Step], None] = quiet,
        accept_different: bool = False,
        images: Path | None = None,
        dataset: Dataset | None = None,
    ) -> "Campaign":
        """Goes on with a campaign.

        ``shared``: where methods of a grid keep the first ensemble. ``accept_different`` goes on though torch,
        numpy or the processor, which may give other bits, are others than when it began; with a person nobody minds.
        ``images``: where the folder of images lies now, if it was moved. ``dataset``: the config's, if at hand.
        """
        found = CampaignFolder(Path(folder))
        if not found.config.is_file():
            raise StoreError(
                str(folder), expected="a campaign's folder, with campaign.toml in it", got="none",
                fix="Begin one with Campaign.create or `versionspace run`.",
            )  # fmt: skip
        found.reject_lost_ledger()
        config = read_stored_config(found.config)
        lock = Lock(found.path).take()
        try:
            ledger = Ledger.open(found.ledger)
            try:
                found.remove_unfinished()
                before, config = config, config if images is None else moved(config, images)
                dataset = _dataset(found, config, ledger) if dataset is None else dataset
                stored = _stored(found, config, dataset, ledger)
                first = None if shared is None else First(shared)
                grid = None if first is None else first.bits()
                agree(config, dataset, ledger, threads, accept_different, grid=grid)
                if config is not before:
                    keep(found, config)
                return cls(found, config, ledger, lock, dataset, stored, first, threads, report, accept_different)
            except BaseException:
                ledger.close()
                raise
        except BaseException:
            lock.close()
            raise

    def propose(self) -> Proposal | None:
        """The images to label next, committed before they are returned; None when the campaign has ended.

        Trains the members where that is due. Asked again before all is answered, gives what is left of the same ask.
        """
        while not self.state.ended:
            for ask in self.state.asks:
                if self.state.is_open(ask):
                    return self._shown(ask)
            self.close_round()  # no-one can answer for images that are gone
            self.commit(self._next())
            self.rounds.forget_weights(self.state)
        return None

    def accept(
        self, answers: Mapping[ImageId, Class | None], *, who: str = "", shown: Mapping[str, Any] | None = None,
        uids: Mapping[ImageId, str] | None = None,
    ) -> None:  # fmt: skip
        """Stores answers, all or none; durable once it returns.

        A class is given by number or name; None skips: the image is not asked again in this campaign. Answers may be
        few or many, late, and may correct earlier ones. ``shown``: what of the model's guess the person saw.
        ``uids``: names of the events, so that sending one twice counts once.
        """
        events = []
        for given, answer in answers.items():
            image: ImageId = given.item() if isinstance(given, np.generic) else given
            place = self.state.places.get(image)
            if place is None:
                raise InputError(
                    "answers", expected="images that this campaign has asked for", got=repr(image),
                    fix="Answer the ids of a proposal: they are the images' own, not positions.",
                )  # fmt: skip
            ask, rank = place
            answered = Answered(image, self._class(answer), ask.part, rank, shown or {})
            events.append(Event("answered", ask.round, answered.to_body(), who=who, uid=(uids or {}).get(image)))
        self.commit(events)

    def close_round(self) -> None:
        """Goes on without the answers that are missing from this round; they may still come later.

        The audit cannot be closed: who leaves out what is hard to tell would find the classifiers better than they are.
        """
        if {ask.purpose for ask in self.state.asks if self.state.is_open(ask)} == {"audit"}:
            raise InputError(
                "close_round", expected="a round that may be closed", got="the audit",
                fix="Answer its images; {id: None} skips those that cannot be labelled.",
            )  # fmt: skip
        if any(self.state.is_unfinished(ask) for ask in self.state.asks if ask.purpose != "audit"):
            self.commit([Event("closed", self.state.round)])

    def add_class(self, name: str) -> None:
        """A class that nobody thought of at the start; rounds from now on know it."""
        if not name.strip():
            raise InputError("class", expected="a name", got=repr(name), fix="Type one.")
        if name not in self.state.classes:
            self.commit([Event("class", self.state.round, {"name": name})])

    @property
    def budget(self) -> int:
        """Labels that may be given."""
        return self.state.budget(self.config.budget.total)

    def reopen(self, budget: int | None = None) -> None:
        """Goes on after the end: with a budget, until it is spent; without, to train once more on corrected labels.

        A stop rule that ended the campaign no longer counts once a budget is given. A campaign that is going on has
        that budget from now on.
        """
        least = max(1, self.state.spent())
        wanted = max(self.budget, least) if budget is None else budget
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < least:
            raise InputError(
                "budget", expected=f"at least {least}, the labels that are given already", got=repr(budget),
                fix="Leave the campaign as it is to stop here.",
            )  # fmt: skip
        if self.state.ended or wanted != self.budget:
            ruled = self.state.ended not in ("", *ENDS)
            past = {"rules": "past"} if ruled and budget is not None else {}
            if self.state.ended and self.config.oracle.kind != "person":
                agree(self.config, self.dataset, self._ledger, self._threads, self._accept_different, on=True)
            self.commit([Event("reopened", self.state.round, {"total": wanted, **past})])

    def oracle(self) -> Simulated:
        """Answers from the dataset's own labels, with the config's noise and silence."""
        labels, found = truth_of_pool(self.config, self.pictures), self.config.oracle
        return Simulated(
            self.pictures.cut.pool, labels, len(self.dataset.classes), found.noise, found.abstain, seed=self.config.seed
        )

    def run(self) -> "Campaign":
        """To the end, with the dataset's labels for answers."""
        oracle = self.oracle()
        for proposal in self:
            self.accept(oracle.answer(proposal.ids), who="simulated")
        return self

    def __iter__(self) -> Iterator[Proposal]:
        """Proposals until the end; each must be answered, or its round closed, before the next."""
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
        """Ends the connection and gives the lock back."""
        self._ledger.close()
        self._lock.close()

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(self, events: Sequence[Event]) -> None:
        """Appends events, all or none, and takes them in; durable once it returns."""
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

    def _cut(self) -> Pictures:
        """The images' roles: drawn and committed once, read from the folder ever after."""
        found = Pictures(self.dataset, checked(self.config, self.dataset))
        sha256 = write_arrays(self.folder.split, found.arrays())
        counts = {name: len(ids) for name, ids in found.cut.arrays().items()}
        known = {} if self.config.oracle.kind == "person" else {TRUTH: found.digest()}
        self.commit([Event("split", 0, {"sha256": sha256, "images": counts, **known})])
        return restored(self.dataset, read_arrays(self.folder.split))

    def _next(self) -> list[Event]:
        """The events that come next, when nothing is open."""
        state, found = self.state, self.pictures.cut
        purposes = {ask.purpose for ask in state.asks}
        if len(found.audit) and "audit" not in purposes:
            return [proposed(0, len(state.asks), "audit", found.audit, np.zeros(len(found.audit)))]
        if len(found.initial) and "initial" not in purposes:
            return [proposed(0, len(state.asks), "initial", found.initial, np.zeros(len(found.initial)))]
        if not state.metrics and (events := self._cold_start()):
            return events
        return self.rounds.compute(state, max(state.metrics, default=0) + 1)

    def _cold_start(self) -> list[Event]:
        """Asks for unlike images until each class has a label; no events: it is time to train."""
        state, given = self.state, self.state.training_labels()
        missing = [name for name in state.classes if name not in given.values()]
        if given and (len(self.pictures.cut.initial) or not missing):
            return []
        left = self.rounds.candidates(state)
        cap = self.config.cold_start.cap or 10 * len(state.classes)
        budget = self.budget - state.spent()
        if len(given) >= cap or budget <= 0 or len(left) == 0:
            if given:
                _log.warning("no image of %s after %d labels: training starts without", ", ".join(missing), len(given))
                return []
            return [Event("ended", 0, {"why": UNLABELLED})]
        ids = self.pictures.cut.askable()
        asked = np.array(list(state.places), ids.dtype)
        fresh = left[~np.isin(left, asked)]
        if len(fresh) == 0:  # only images of rounds that were closed are left: they are asked again
            asked, fresh = ids[~np.isin(ids, left)], left
        size = min(self.config.cold_start.size or max(2, len(state.classes)), cap - len(given), budget, len(fresh))
        if self._features is None:
            self._features = simple_features(self.pictures.pool(ids))
        chosen, distances = select_diverse(self._features, ids, asked, size, rng.key(self.config.seed, "cold start"))
        return [proposed(0, len(state.asks), "cold start", chosen, distances)]

    def _shown(self, ask: Ask) -> Proposal:
        left = set(self.state.unanswered(ask))
        kept = [(i, u) for i, u in zip(ask.ids, ask.utilities, strict=True) if i in left]
        ids = tuple(i for i, _ in kept)
        files = self.dataset.train.files
        if files is not None:
            rows = self.dataset.train.rows(np.asarray(ids))
            files = tuple(files[row] for row in rows)
        return Proposal(
            ids, tuple(u for _, u in kept), ask.round, ask.part, ask.purpose, tuple(self.state.classes), files
        )

    def _class(self, answer: Class | None) -> str | None:
        if answer is None:
            return None
        classes = self.state.classes
        if isinstance(answer, str) and answer in classes:
            return answer
        if isinstance(answer, int | np.integer) and not isinstance(answer, bool) and 0 <= answer < len(classes):
            return classes[answer]
        raise InputError(
            "answers", expected=f"a class from 0 to {len(classes) - 1}, one of {', '.join(classes)}, or None",
            got=repr(answer), fix="None skips an image; campaign.add_class adds a class.",
        )  # fmt: skip


def _dataset(folder: CampaignFolder, config: Config, ledger: Ledger) -> Dataset:
    """The images; of a campaign that has begun the folder may lie elsewhere now."""
    name = config.data.name
    begun = config.oracle.kind != "person" and "split" in ledger.kinds()
    if begun and name not in DATASETS and not is_folder(Path(name).expanduser()):
        raise InputError(
            printable(name), expected="the folder of images that the campaign began with", got="no folder there",
            fix=f"Put it back, or say where it is now: `versionspace resume {folder.path} --images FOLDER`.",
        )  # fmt: skip
    return opened(config)


def _stored(folder: CampaignFolder, config: Config, dataset: Dataset, ledger: Ledger) -> Pictures | None:
    """The images of a campaign that has begun; a folder that is not hers is refused before anything is written."""
    state, person = replay(ledger.events(), ledger=ledger.path), config.oracle.kind == "person"
    if state.begun is not None:
        same_classes(config, dataset, state.begun)
    if state.split is None:
        return None
    arrays = read_arrays(folder.split)
    found = restored(dataset, arrays, partly=person)
    if not person:
        same_truth(found, state.split, arrays.get("test_truth"))
    return found
