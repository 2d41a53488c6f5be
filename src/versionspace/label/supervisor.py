"""Keeps one trainer process running: starts it, requests rounds, commits them, and restarts it when it dies."""

import json
import logging
import queue
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from versionspace.errors import VersionspaceError
from versionspace.label.service import LabelService
from versionspace.label.trainer_messages import Extracted, RoundResult, SampleFeatures
from versionspace.subprocesses import close_input, forward_lines, send_line, start_child, wait_or_kill
from versionspace.text import printable
from versionspace.types import ImageId

LOG = ".trainer.log"
_LONGEST_PAUSE = 60.0
_DOUBLINGS = 10
LOG_SECONDS = 20.0
"""Time between two lines in the log about features that are being computed."""
LISTED = 20
"""Files that are named if they cannot be read."""

_log = logging.getLogger("versionspace.label")


@dataclass(frozen=True)
class TrainerStatus:
    """What the trainer is doing, for the page."""

    stage: str = "starting"
    """"starting", "features", "idle", "fit", "predict", "measure", "query", "result" or "down"."""
    share: float = 0.0
    """Progress of the stage, from 0 to 1."""
    round: int = 0
    problem: str = ""
    """The last error; empty again once a round was committed."""
    reading: str = ""
    """While the trainer starts: how far it has read a large folder."""
    extraction: Extracted | None = None
    """How far the features of the images are computed; None if none are, or all."""
    retry_seconds: float = 0.0
    """Seconds until the trainer is restarted; more than 0 while it is down."""


class Supervisor:
    """A thread that keeps one trainer running for a service."""

    def __init__(self, service: LabelService, *, first_pause: float = 1.0) -> None:
        """``first_pause``: seconds before the first restart; each failure in a row doubles it."""
        self.service, self.first_pause = service, first_pause
        self.process: subprocess.Popen[str] | None = None
        self._status = TrainerStatus()
        self._restart_at, self._logged_at = 0.0, 0.0
        self._committed_rounds = 0
        """Since the trainer was last started."""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def start(self) -> "Supervisor":
        """Start the thread and return at once."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop the trainer, even in the middle of a fit; nothing committed is lost."""
        self._closing.set()
        self.service.changed.set()
        self._thread.join(timeout=15)

    def status(self) -> TrainerStatus:
        """Return what the trainer is doing."""
        status = self._status
        left = max(0.1, self._restart_at - time.monotonic()) if status.stage == "down" else 0.0
        return replace(status, retry_seconds=round(left, 1))

    def _run(self) -> None:
        failures = 0
        while not self._closing.is_set():
            self._committed_rounds = 0
            try:
                problem = self._run_trainer()
            except Exception as error:  # an error that ended this thread would end all training
                problem = _describe(error)
            if self._closing.is_set():
                return
            failures = 1 if self._committed_rounds else failures + 1
            pause = min(_LONGEST_PAUSE, self.first_pause * 2 ** min(failures - 1, _DOUBLINGS))
            self._restart_at = time.monotonic() + pause
            self._status = TrainerStatus("down", problem=problem)
            self._closing.wait(pause)

    def _run_trainer(self) -> str:
        """Run one trainer until it exits and return why it did."""
        lines: queue.Queue[str] = queue.Queue()
        log = self.service.campaign.folder.path / LOG
        self._status = replace(self._status, stage="starting", share=0.0, reading="", extraction=None)
        with log.open("w", encoding="utf-8") as errors:
            process = self.process = _start_trainer(self.service.campaign.folder.path, errors)
        assert process.stdout is not None

        def receive(line: str) -> None:
            lines.put(line)
            self.service.changed.set()

        listener = threading.Thread(target=forward_lines, args=(process.stdout, receive), daemon=True)
        try:
            listener.start()
            problem = self._exchange(process, lines)
        finally:
            close_input(process)
            wait_or_kill(process, timeout=5)
            if listener.ident is not None:
                listener.join(timeout=5)
            process.stdout.close()
        return problem or _last_line(log) or f"it exited with code {process.returncode}"

    def _exchange(self, process: "subprocess.Popen[str]", lines: "queue.Queue[str]") -> str:
        """Handle messages and request rounds until the trainer's output ends; return its error, if it sent one."""
        problem, requested_at = "", 0.0
        is_ready = is_busy = False
        while not self._closing.is_set():
            self.service.changed.wait(timeout=0.5)
            self.service.changed.clear()
            while not lines.empty():
                line = lines.get()
                if not line.endswith("\n"):  # the output ended, possibly in the middle of a line
                    return problem
                message = json.loads(line)
                match message["kind"]:
                    case "ready":
                        is_ready = True
                        self._status = replace(self._status, stage="idle", reading="")
                    case "reading":
                        self._status = replace(self._status, reading=message["text"])
                    case "missing":
                        self._set_missing(message["missing"], message["unreadable"])
                    case "extracted":
                        self._set_extraction(Extracted.from_message(message))
                    case "step":
                        self._status = replace(
                            self._status, stage=message["stage"], share=message["share"], round=message["round"]
                        )
                    case "features":
                        self.service.set_features(SampleFeatures.from_message(message))
                    case "failed":
                        problem = message["text"]
                    case "final":
                        self.service.commit_final_model(message["body"], message["last_event"])
                        is_busy = False
                        self._committed_rounds += 1
                        self._status = TrainerStatus("idle", extraction=self._status.extraction)
                    case "result":
                        with self.service.lock:
                            self.service.results.finish(message)
                        is_busy = False
                        self._status = TrainerStatus("idle", extraction=self._status.extraction)
                    case "round":
                        result = RoundResult.from_message(message)
                        self.service.commit_round(result, time.monotonic() - requested_at)
                        is_busy = False
                        self._committed_rounds += 1
                        self._status = TrainerStatus("idle", extraction=self._status.extraction)
            if is_ready and not is_busy and (request := self._next_request()) is not None:
                is_busy, requested_at = True, time.monotonic()
                if not send_line(process, json.dumps(request) + "\n"):
                    return problem
        return problem

    def _set_missing(self, missing: Sequence[ImageId], unreadable: Mapping[ImageId, str]) -> None:
        """Leave these images out, and name those in the log that are newly found to be unreadable."""
        files = self.service.campaign.images.files
        new = [image for image in unreadable if image not in self.service.unreadable]
        self.service.set_missing(missing, unreadable)
        for image in new[:LISTED]:
            _log.warning("%s: %s; it is left out", printable(files.get(image) or str(image)), unreadable[image])
        if len(new) > LISTED:
            _log.warning("and %d more files that cannot be read", len(new) - LISTED)

    def _set_extraction(self, now: Extracted) -> None:
        """Show how many features are computed, and log it every `LOG_SECONDS` and at the end."""
        is_complete = now.done >= now.total
        if is_complete or time.monotonic() - self._logged_at >= LOG_SECONDS:
            self._logged_at = time.monotonic()
            _log.info("%s", now.text())
        self._status = replace(self._status, extraction=None if is_complete else now)

    def _next_request(self) -> dict[str, Any] | None:
        """Return what the trainer should train now; None if nothing."""
        size = self.service.next_round_size()
        if size is not None:
            return {"size": size}
        if self.service.final_model_due():
            return {"final": True}
        with self.service.lock:
            return self.service.results.next_request()


def _start_trainer(folder: Path, errors: IO[str]) -> "subprocess.Popen[str]":
    return start_child("versionspace.label.trainer", str(folder), stderr=errors)


def _describe(error: Exception) -> str:
    """Return the error's own message where it has one."""
    if isinstance(error, VersionspaceError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
