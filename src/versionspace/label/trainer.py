"""The process that trains: ``python -m versionspace.label.trainer FOLDER``.

Orders come in on its standard input and news go out on its standard output, a line of JSON each. It reads the ledger
and never writes it. When its input ends, for whatever reason, it ends too, in the midst of a fit if need be.

    in   {"size": 12}                                   train on the labels there are; ask for so many images
    out  {"kind": "ready", "gone": [...]}               ids of images that are not there
         {"kind": "step", "round": 3, "stage": "fit", "share": 0.4}
         {"kind": "round", "events": [...], "guesses": {...}, "upto": 57}
                                                        to be committed by whoever holds the ledger
         {"kind": "failed", "text": "..."}
"""

import base64
import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from versionspace.campaign.datasets import open_dataset
from versionspace.campaign.images import restore_images
from versionspace.campaign.learner import learner_kind, make_learner, training_of
from versionspace.campaign.round import RoundRunner, Step
from versionspace.campaign.worker import die_with_parent, ignore_interrupts
from versionspace.ensemble.predict import Opinions
from versionspace.errors import VersionspaceError
from versionspace.machine import cores
from versionspace.store import CampaignFolder, Event, Ledger, read_arrays, read_stored_config, replay
from versionspace.types import Array

NICE = 10


class Trainer:
    """One campaign's rounds, computed on snapshots of its ledger."""

    def __init__(self, folder: Path, tell: Any) -> None:
        self.folder, self.tell = CampaignFolder(folder), tell
        self.config = read_stored_config(self.folder.config)
        images = restore_images(open_dataset(self.config, folder), read_arrays(self.folder.split), allow_missing=True)
        threads = self.config.machine.threads or max(1, cores() - 1)
        if learner_kind(self.config.ensemble.net).extractor is not None:
            # Features are computed once and cached: while the person gives the first labels.
            tell({"kind": "step", "round": 0, "stage": "features", "share": 0.0})
            training = training_of(self.config, has_validation=False)
            make_learner(self.config, 2, lambda: images.of("pool"), training=training, threads=threads)
        self.said: Opinions | None = None
        self.runner = RoundRunner(
            self.config, images, self.folder, threads=threads, report=self._step, on_opinions=self._seen
        )

    def _seen(self, said: Mapping[str, Opinions]) -> None:
        """The page wants the members' vote on the pool: guesses, grids, second looks."""
        self.said = said.get("pool")

    def round(self, size: int) -> dict[str, Any]:
        """Trains on the labels of now; the news of it."""
        with Ledger.view(self.folder.ledger) as ledger:
            state = replay(ledger.events(), ledger=ledger.path)
        state.missing = self.runner.images.missing
        for ask in state.asks:
            ask.closed = ask.purpose != "audit"  # whoever commits the round closes the asks before it
        events = self.runner.run(state, max(state.metrics, default=0) + 1, size=size)
        guesses = self._guesses(state.classes)
        return {"kind": "round", "events": [encode(e) for e in events], "guesses": guesses, "upto": state.last_event}

    def _guesses(self, classes: list[str]) -> dict[str, Any] | None:
        said = self.said
        if said is None:
            return None
        whole = self.runner.images.expand_to_pool
        majority = whole(said.majority.astype(np.int32))
        agreement = whole((said.votes == said.majority).mean(axis=0).astype(np.float32))
        return {"classes": classes, "majority": _packed(majority), "agreement": _packed(agreement)}

    def _step(self, step: Step) -> None:
        self.tell({"kind": "step", "round": step.round, "stage": step.stage, "share": round(step.share, 3)})


def encode(event: Event) -> dict[str, Any]:
    """An event for the other side."""
    return {
        "kind": event.kind, "round": event.round, "body": event.body, "environment": event.environment,
    }  # fmt: skip


def decode(found: Mapping[str, Any]) -> Event:
    """An event from the other side."""
    return Event(found["kind"], found["round"], found["body"], environment=found["environment"])


def unpacked(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Guesses from the other side."""
    if found is None:
        return None
    majority = np.frombuffer(base64.b64decode(found["majority"]), np.int32)
    agreement = np.frombuffer(base64.b64decode(found["agreement"]), np.float32)
    return {"classes": found["classes"], "majority": majority, "agreement": agreement}


def _packed(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def main() -> None:
    """Takes orders until its input ends."""
    ignore_interrupts()
    die_with_parent()
    out = sys.stdout
    sys.stdout = sys.stderr  # what libraries print must not get among the news
    if hasattr(os, "nice"):
        os.nice(NICE)
    orders: queue.Queue[str] = queue.Queue()
    lock = threading.Lock()

    def tell(news: Mapping[str, Any]) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            out.write(json.dumps(news) + "\n")
            out.flush()

    def listen() -> None:
        for line in sys.stdin:
            orders.put(line)
        os._exit(0)  # the server is gone, or wants no more

    threading.Thread(target=listen, daemon=True).start()
    try:
        trainer = Trainer(Path(sys.argv[1]), tell)
        tell({"kind": "ready", "gone": sorted(map(str, trainer.runner.images.missing))})
        while True:
            tell(trainer.round(int(json.loads(orders.get())["size"])))
    except VersionspaceError as error:
        tell({"kind": "failed", "text": str(error)})
        sys.exit(1)


if __name__ == "__main__":
    main()
