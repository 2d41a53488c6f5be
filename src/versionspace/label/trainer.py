"""The process that trains: ``python -m versionspace.label.trainer FOLDER``.

It exchanges the messages of `versionspace.label.trainer_messages` with its supervisor over standard input and output.
It reads the ledger and never writes it. When its input ends it exits at once, even in the middle of a fit.
"""

import json
import logging
import os
import queue
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign import (
    CampaignImages,
    FileFeatures,
    RoundRunner,
    Step,
    computed_from_files,
    learner_kind,
    make_learner,
    open_dataset,
    restore_images,
    train_final_model,
    training_of,
)
from versionspace.data import PROGRESS_LOG
from versionspace.ensemble import Opinions
from versionspace.errors import VersionspaceError
from versionspace.label.cold_start import sample_ids
from versionspace.label.extraction import Extraction
from versionspace.label.messages import PoolVotes
from versionspace.label.result_writer import write_result
from versionspace.label.trainer_messages import RoundResult, SampleFeatures
from versionspace.machine import cores, release_memory
from versionspace.store import CampaignFolder, Ledger, State, as_ids, read_arrays, read_stored_config, replay
from versionspace.subprocesses import connect_to_parent

NICENESS = 10
"""The page has priority over training."""


FIRST = 4_000
"""Images whose features are computed before the first model: at 100 to 200 a second, less than a minute."""
STEP_SECONDS = 1.0
"""Time between two messages about the features that are computed."""


class Trainer:
    """Computes rounds of one campaign on snapshots of its ledger."""

    def __init__(self, folder: Path, send: Callable[[Mapping[str, Any]], None]) -> None:
        """Open the images of a campaign; ``send`` is called with every message for the supervisor."""
        self.folder, self._send = CampaignFolder(folder), send
        self.config = read_stored_config(self.folder.config)
        images = restore_images(open_dataset(self.config, folder), read_arrays(self.folder.split), allow_missing=True)
        release_memory()
        threads = self.config.machine.threads or max(1, cores() - 1)
        self._pool_opinions: Opinions | None = None
        self.runner = RoundRunner(
            self.config, images, self.folder, threads=threads, report=self._report_step, on_opinions=self._keep_opinions
        )
        self._backlog: Extraction | None = None
        if computed_from_files(self.config):
            send({"kind": "step", "round": 0, "stage": "features", "share": 0.0})
            self._backlog = Extraction(
                FileFeatures(self.config, images, self.config.machine.threads or cores()), self.config.seed
            )
            self._compute_first(self._backlog)
        elif self.runner.features.from_extractor:
            send({"kind": "step", "round": 0, "stage": "features", "share": 0.0})
            ids = sample_ids(images.roles.askable(), self.config.seed)
            send(SampleFeatures(as_ids(ids), self.runner.features.of(ids)).to_message())
            if learner_kind(self.config.ensemble.net).on_features:
                # Features are computed once and cached, while the person gives the first labels.
                training = training_of(self.config, has_validation=False)
                make_learner(self.config, 2, lambda: images.of("pool"), training=training, threads=threads)
        self._report_missing()

    def has_backlog(self) -> bool:
        """Return whether features are still to be computed."""
        return self._backlog is not None and not self._backlog.is_complete

    def work(self) -> None:
        """Compute some of the features that are still lacking."""
        assert self._backlog is not None
        unreadable = len(self._backlog.files.unreadable)
        self._backlog.advance()
        self._report_extraction(self._backlog)
        if len(self._backlog.files.unreadable) > unreadable:
            self._report_missing()

    def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a request asks for and return the message that answers it."""
        if "result" in request:
            self._send({"kind": "step", "round": 0, "stage": "result", "share": 0.0})
            images = self._all_images() if request["result"] == "predictions" else self.runner.images
            return write_result(self.folder, images, request, self._report_share)
        return self.final() if "final" in request else self.round(int(request["size"])).to_message()

    def _all_images(self) -> CampaignImages:
        """Return the images with all features, also if rounds see a part of them; first compute what is lacking."""
        if self._backlog is None:
            return self.runner.images
        while self.has_backlog():
            self.work()
        return self._backlog.files.campaign_images()

    def _report_share(self, share: float) -> None:
        self._send({"kind": "step", "round": 0, "stage": "result", "share": round(share, 3)})

    def round(self, size: int) -> RoundResult:
        """Train on the current labels and ask for ``size`` images."""
        state = self._state()
        for ask in state.asks:
            ask.closed = ask.purpose != "audit"  # committing the round closes the asks before it
        events = self.runner.run(state, max(state.metrics, default=0) + 1, size=size)
        return RoundResult(events, self._votes(state.classes), state.last_event)

    def final(self) -> dict[str, Any]:
        """Train the final model and return the message that carries it."""
        state = self._state()
        return {"kind": "final", "body": train_final_model(self.runner, state).body, "last_event": state.last_event}

    def _state(self) -> State:
        with Ledger.view(self.folder.ledger) as ledger:
            state = replay(ledger.events(), ledger=ledger.path)
        if self._backlog is not None:
            self.runner.use(self._backlog.images_for(state))
        state.missing = self.runner.images.missing
        return state

    def _compute_first(self, backlog: Extraction) -> None:
        """Compute what the first model needs; the features of the sample for a cold start are sent as soon as known."""
        sample = sample_ids(backlog.files.images.roles.askable(), self.config.seed)
        backlog.begin(sample, FIRST)
        rows, store, is_sent = backlog.files.store.rows(sample), backlog.files.store, False
        while not is_sent or backlog.has_first_work:
            if not is_sent and not len(backlog.files.lacking(rows)):
                is_sent = True
                rows = rows[store.is_done(rows)]
                self._send(SampleFeatures(as_ids(store.ids[rows]), backlog.files.features(rows)).to_message())
                continue
            backlog.advance()
            self._report_extraction(backlog)

    def _report_extraction(self, backlog: Extraction) -> None:
        if (now := backlog.news(STEP_SECONDS)) is not None:
            self._send(now.to_message())

    def _report_missing(self) -> None:
        unreadable = {} if self._backlog is None else self._backlog.files.unreadable
        missing = self.runner.images.missing - unreadable.keys()
        self._send({"kind": "missing", "missing": sorted(map(str, missing)), "unreadable": dict(unreadable)})

    def _votes(self, classes: list[str]) -> PoolVotes | None:
        opinions = self._pool_opinions
        if opinions is None:
            return None
        agreement = (opinions.votes == opinions.majority).mean(axis=0).astype(np.float32)
        whole = self.runner.images.expand_to_pool
        return PoolVotes(tuple(classes), whole(opinions.majority), whole(agreement))

    def _keep_opinions(self, opinions: Mapping[str, Opinions]) -> None:
        self._pool_opinions = opinions.get("pool")

    def _report_step(self, step: Step) -> None:
        self._send({"kind": "step", "round": step.round, "stage": step.stage, "share": round(step.share, 3)})


class _Sender(logging.Handler):
    """Sends what is logged about the progress of reading the folder."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send({"kind": "reading", "text": record.getMessage()})


def main() -> None:
    """Train a round, or the final model, for each request until the input ends."""
    requests: queue.Queue[str] = queue.Queue()
    send_line = connect_to_parent(requests.put)
    if hasattr(os, "nice"):
        os.nice(NICENESS)

    def send(message: Mapping[str, Any]) -> None:
        send_line(json.dumps(message) + "\n")

    log = logging.getLogger(PROGRESS_LOG)
    log.setLevel(logging.INFO)
    log.addHandler(_Sender(send))
    try:
        trainer = Trainer(Path(sys.argv[1]), send)
        send({"kind": "ready"})
        while True:
            try:
                request = json.loads(requests.get(block=not trainer.has_backlog()))
            except queue.Empty:
                trainer.work()
                continue
            send(trainer.handle(request))
    except VersionspaceError as error:
        send({"kind": "failed", "text": str(error)})
        sys.exit(1)


if __name__ == "__main__":
    main()
