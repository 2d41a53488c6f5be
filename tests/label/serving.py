"""A server in its own process on a folder of images, and a client for its HTTP API."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from versionspace.campaign.setup import create_folder
from versionspace.config import validate_config

COMMAND = "import typer; from versionspace.cli.label import label; typer.run(label)"


def digits(folder: Path, count: int, classes: int = 10) -> dict[str, str]:
    """Write digits as PNG files and return the class of each file."""
    found = load_digits()
    kept = np.flatnonzero(found.target < classes)[:count]
    folder.mkdir(parents=True)
    truth = {}
    for number in kept:
        pixels = np.rint(found.images[number] * (255 / 16)).astype(np.uint8)
        name = f"{number:05d}.png"
        Image.fromarray(pixels).save(folder / name)
        truth[name] = str(found.target[number])
    return truth


def quick(photos: Path, classes: tuple[str, ...], total: int, **changes: Any) -> Path:
    """Create a campaign that trains in a second, beside the images, and return its folder."""
    values: dict[str, Any] = {
        "data": {"name": str(photos), "classes": list(classes), "balanced": False, "size": 8, "channels": 1},
        "ensemble": {"net": "small", "members": 3},
        "training": {"epochs": 8},
        "budget": {"total": total, "audit": min(20, total // 6)},
        "oracle": {"kind": "person"},
        "machine": {"threads": 1},
    }
    for section, content in changes.items():
        values.setdefault(section, {}).update(content)
    folder = photos.with_name(photos.name + ".versionspace")
    create_folder(folder, validate_config(values, "test"))
    return folder


class Server:
    """``versionspace label`` in a process of its own."""

    def __init__(self, folder: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self.folder, self.options, self.environment = folder, options, environment or {}
        self.truth: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        environment = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", **os.environ, **self.environment}
        log = (self.folder / ".server.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, "--campaign", str(self.folder), "--no-browser", *self.options],
                env=environment, stdout=log, stderr=log,
            )  # fmt: skip
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            if self.process.poll() is not None:
                raise AssertionError((self.folder / ".server.log").read_text())
            try:
                httpx.get(f"{self.base}/api/status", timeout=2)
                return self
            except (httpx.HTTPError, OSError, ValueError):
                time.sleep(0.1)
        raise AssertionError("the server did not start: " + (self.folder / ".server.log").read_text())

    @property
    def key(self) -> dict[str, Any]:
        return json.loads((self.folder / ".label.json").read_text())

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.key['port']}"

    @property
    def address(self) -> str:
        return f"{self.base}/?token={self.key['token']}"

    def kill(self) -> None:
        """Kill the process, as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Interrupt the process, as Ctrl-C does, and return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=25)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return self.process.returncode

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()


class Client:
    """A browser tab without the browser."""

    def __init__(self, server: Server, who: str = "") -> None:
        self.http = httpx.Client(base_url=server.base, timeout=20)
        self.http.get("/", params={"token": server.key["token"]}).raise_for_status()
        self.session, self.who = uuid.uuid4().hex, who

    def post(self, path: str, **body: Any) -> Any:
        response = self.http.post(path, json=body, headers={"X-Versionspace": "1"})
        response.raise_for_status()
        return response.json()

    def next(self, have: tuple[str, ...] = (), want: int = 1, **more: Any) -> Any:
        return self.post("/api/next", session=self.session, who=self.who, have=list(have), want=want, **more)

    def answer(self, image: str, name: str | None = None, uid: str = "", **more: Any) -> Any:
        answer = {"uid": uid or uuid.uuid4().hex, "kind": "class", "image": image, "name": name, "seconds": 0.5} | more
        return self.post("/api/answers", session=self.session, who=self.who, answers=[answer])

    def status(self) -> Any:
        return self.http.get("/api/status", params={"session": self.session, "who": self.who}).json()

    def close(self) -> None:
        self.http.close()
