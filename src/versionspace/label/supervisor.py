"""The trainer's keeper: starts it, gives it orders, takes in its rounds, and starts it again when it dies."""

import json
import queue
import subprocess
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from versionspace.errors import VersionspaceError
from versionspace.label.service import LabelService
from versionspace.subprocesses import close_input, forward_lines, send_line, start_child, wait_or_kill

LOG = ".trainer.log"
_LONGEST = 60.0
_DOUBLINGS = 10


@dataclass(frozen=True)
class Training:
    """What the trainer is doing, for the page."""

    stage: str = "starting"
    """"starting", "features", "idle", "fit", "predict", "measure", "query" or "down"."""
    share: float = 0.0
    round: int = 0
    trouble: str = ""
    """What went wrong last; empty once a round has gone well again."""
    retry: float = 0.0
    """Seconds until it is started again, more than 0 while that is to come."""


class Supervisor:
    """A thread that keeps one trainer alive for a service."""

    def __init__(self, service: LabelService, *, first_pause: float = 1.0) -> None:
        self.service, self.first_pause = service, first_pause
        self.process: subprocess.Popen[str] | None = None
        self._now = Training()
        self._again = 0.0
        self._rounds = 0
        """That went well in this life of the trainer."""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="supervisor", daemon=True)

    def start(self) -> "Supervisor":
        """Begins; returns at once."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Ends the trainer, in the midst of a fit if need be; nothing committed is lost."""
        self._closing.set()
        self.service.changed.set()
        self._thread.join(timeout=15)

    def now(self) -> Training:
        """What it is doing."""
        now = self._now
        left = max(0.1, self._again - time.monotonic()) if now.stage == "down" else 0.0
        return replace(now, retry=round(left, 1))

    def _keep(self) -> None:
        failures = 0
        while not self._closing.is_set():
            self._rounds = 0
            try:
                why = self._watch()
            except Exception as error:  # whatever it is: a thread that ended here would never train again
                why = _reason(error)
            if self._closing.is_set():
                return
            failures = 1 if self._rounds else failures + 1
            pause = min(_LONGEST, self.first_pause * 2 ** min(failures - 1, _DOUBLINGS))
            self._again = time.monotonic() + pause
            self._now = Training("down", trouble=why)
            self._closing.wait(pause)

    def _watch(self) -> str:
        """One life of a trainer; why it ended."""
        news: queue.Queue[str] = queue.Queue()
        log = self.service.campaign.folder.path / LOG
        self._now = replace(self._now, stage="starting", share=0.0)
        with log.open("w", encoding="utf-8") as errors:
            self.process = _started(self.service.campaign.folder.path, errors)
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None

        def hear(line: str) -> None:
            news.put(line)
            self.service.changed.set()

        listener = threading.Thread(target=forward_lines, args=(process.stdout, hear), daemon=True)
        try:
            listener.start()
            why = self._serve(process, news)
        finally:
            close_input(process)
            wait_or_kill(process, timeout=5)
            if listener.ident is not None:
                listener.join(timeout=5)
            process.stdout.close()
        return why or _last_line(log) or f"it ended with code {process.returncode}"

    def _serve(self, process: "subprocess.Popen[str]", news: "queue.Queue[str]") -> str:
        why, began = "", 0.0
        ready = busy = False
        while not self._closing.is_set():
            self.service.changed.wait(timeout=0.5)
            self.service.changed.clear()
            while not news.empty():
                line = news.get()
                if not line.endswith("\n"):  # its end, or it was killed in the midst of a line
                    return why
                found = json.loads(line)
                match found["kind"]:
                    case "ready":
                        ready = True
                        self.service.without(found.get("gone", ()))
                        self._now = replace(self._now, stage="idle")
                    case "step":
                        self._now = replace(self._now, stage=found["stage"], share=found["share"], round=found["round"])
                    case "failed":
                        why = found["text"]
                    case "round":
                        self._commit(found, time.monotonic() - began)
                        busy = False
                        self._rounds += 1
                        self._now = Training("idle")
            if ready and not busy and (size := self.service.order()) is not None:
                busy, began = True, time.monotonic()
                if not send_line(process, json.dumps({"size": size}) + "\n"):
                    return why
        return why

    def _commit(self, found: dict[str, Any], seconds: float) -> None:
        from versionspace.label.trainer import decode, unpacked

        self.service.trained([decode(e) for e in found["events"]], unpacked(found["guesses"]), seconds, found["upto"])


def _started(folder: Path, errors: IO[str]) -> "subprocess.Popen[str]":
    return start_child("versionspace.label.trainer", str(folder), stderr=errors)


def _reason(error: Exception) -> str:
    """In the words of the error, where it has any."""
    if isinstance(error, VersionspaceError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
