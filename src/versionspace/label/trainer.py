"""The process that trains: ``python -m versionspace.label.trainer FOLDER``.

It exchanges the messages of `versionspace.label.trainer_messages` with its supervisor over standard input and output.
It reads the ledger and never writes it. When its input ends it exits at once, even in the middle of a fit.
"""

import json
import os
import queue
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign import (
    RoundRunner,
    Step,
    learner_kind,
    make_learner,
    open_dataset,
    restore_images,
    training_of,
)
from versionspace.ensemble import Opinions
from versionspace.errors import VersionspaceError
from versionspace.label.messages import PoolVotes
from versionspace.label.trainer_messages import RoundResult
from versionspace.machine import cores
from versionspace.store import CampaignFolder, Ledger, read_arrays, read_stored_config, replay
from versionspace.subprocesses import connect_to_parent

NICENESS = 10
"""The page has priority over training."""


class Trainer:
    """Computes rounds of one campaign on snapshots of its ledger."""

    def __init__(self, folder: Path, send: Callable[[Mapping[str, Any]], None]) -> None:
        """Open the images of a campaign; ``send`` is called with every message for the supervisor."""
        self.folder, self._send = CampaignFolder(folder), send
        self.config = read_stored_config(self.folder.config)
        images = restore_images(open_dataset(self.config, folder), read_arrays(self.folder.split), allow_missing=True)
        threads = self.config.machine.threads or max(1, cores() - 1)
        if learner_kind(self.config.ensemble.net).extractor is not None:
            # Features are computed once and cached, while the person gives the first labels.
            send({"kind": "step", "round": 0, "stage": "features", "share": 0.0})
            training = training_of(self.config, has_validation=False)
            make_learner(self.config, 2, lambda: images.of("pool"), training=training, threads=threads)
        self._pool_opinions: Opinions | None = None
        self.runner = RoundRunner(
            self.config, images, self.folder, threads=threads, report=self._report_step, on_opinions=self._keep_opinions
        )

    def round(self, size: int) -> RoundResult:
        """Train on the current labels and ask for ``size`` images."""
        with Ledger.view(self.folder.ledger) as ledger:
            state = replay(ledger.events(), ledger=ledger.path)
        state.missing = self.runner.images.missing
        for ask in state.asks:
            ask.closed = ask.purpose != "audit"  # committing the round closes the asks before it
        events = self.runner.run(state, max(state.metrics, default=0) + 1, size=size)
        return RoundResult(events, self._votes(state.classes), state.last_event)

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


def main() -> None:
    """Train a round for each request until the input ends."""
    requests: queue.Queue[str] = queue.Queue()
    send_line = connect_to_parent(requests.put)
    if hasattr(os, "nice"):
        os.nice(NICENESS)

    def send(message: Mapping[str, Any]) -> None:
        send_line(json.dumps(message) + "\n")

    try:
        trainer = Trainer(Path(sys.argv[1]), send)
        send({"kind": "ready", "missing": sorted(map(str, trainer.runner.images.missing))})
        while True:
            size = int(json.loads(requests.get())["size"])
            send(trainer.round(size).to_message())
    except VersionspaceError as error:
        send({"kind": "failed", "text": str(error)})
        sys.exit(1)


if __name__ == "__main__":
    main()
