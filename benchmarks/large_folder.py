"""``python -m benchmarks.large_folder``: a large folder of small images on the labelling page.

Draws letters of 28×28 pixels as PNG files and labels them over the page's HTTP API at a person's pace, first with an
empty cache, then again after a restart. Printed are the seconds until the page is served, from the first question to
the first model and until all features are computed, the peak of the anonymous memory of server and trainer together,
the bytes in the cache, and the longest time in which neither the terminal nor the page said anything new while the
first model was awaited.

``--fast`` replaces the pretrained network by thumbnails, also 1,280 numbers an image: with a million files only memory
is of interest, and the network would take hours.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from benchmarks.measure import report

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from label.serving import Client
from versionspace.store import CampaignFolder, read_arrays, unpack_names

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_IN_FOLDER = 5_000
_SECONDS_PER_LABEL = 0.7


class Thumbnails:
    """A feature extractor without a network: images of 20×20 pixels, and zeros."""

    identity, side, width = "thumbnails-20", 32, 1280

    def __init__(self) -> None:
        import torch

        self.device = torch.device("cpu")

    def __call__(self, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        features = np.zeros((len(images), self.width), np.float32)
        features[:, :1200] = images[:, 6:26, 6:26].reshape(len(images), -1)
        return features

    def module(self) -> None:
        return None


def thumbnails() -> Thumbnails:
    """Return the extractor, for ``--extractor benchmarks.large_folder:thumbnails``."""
    return Thumbnails()


def _draw_part(folder: str, start: int, stop: int) -> None:
    fonts = [ImageFont.load_default(size) for size in (14, 18, 22, 26)]
    generator = np.random.default_rng(start)
    place = Path(folder) / f"part-{start // _IN_FOLDER:04d}"
    place.mkdir(parents=True, exist_ok=True)
    for number in range(start, stop):
        letter = LETTERS[number % len(LETTERS)]
        image = Image.new("L", (28, 28), int(generator.integers(0, 60)))
        corner = tuple(generator.integers(0, 10, 2).tolist())
        ImageDraw.Draw(image).text(corner, letter, int(generator.integers(150, 256)), fonts[number % 4])
        noisy = np.asarray(image) ^ generator.integers(0, 8, (28, 28), np.uint8)
        Image.fromarray(noisy).save(place / f"{number:07d}-{letter}.png", compress_level=1)


def draw_letters(folder: Path, count: int) -> None:
    """Write ``count`` different images, 5,000 in each sub-folder; those of an earlier, interrupted run are kept."""
    parts = [(str(folder), start, min(start + _IN_FOLDER, count)) for start in range(0, count, _IN_FOLDER)]
    left = [
        part
        for part in parts
        if len(list(Path(folder).glob(f"part-{part[1] // _IN_FOLDER:04d}/*"))) < part[2] - part[1]
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_draw_part, *zip(*left, strict=True))) if left else None


class Watch:
    """Follows the anonymous memory of a process and its children."""

    def __init__(self, process: int) -> None:
        self.process, self.peak, self.largest = process, 0, {}
        self._stop = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            found = {name: _anonymous(pid) for name, pid in self._processes().items()}
            self.peak = max(self.peak, sum(found.values()))
            self.largest = {name: max(found.get(name, 0), self.largest.get(name, 0)) for name in found | self.largest}

    def _processes(self) -> dict[str, int]:
        try:
            trainer = _all_children(self.process)[-1:]
        except OSError:  # it has just ended
            return {}
        return {"server": self.process} | {f"trainer{i or ''}": int(pid) for i, pid in enumerate(trainer)}

    def stop(self) -> None:
        self._stop.set()


def _all_children(process: int) -> list[str]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [pid for task in tasks for pid in (task / "children").read_text().split()]


def _anonymous(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Page:
    """``versionspace label`` in a process of its own; ``seconds``: until the address was printed."""

    def __init__(self, photos: Path, campaign: Path, fast: bool) -> None:
        self.campaign, self.log = campaign, campaign.with_suffix(".log")
        options = ["--extractor", "benchmarks.large_folder:thumbnails"] if fast else []
        command = "from versionspace.cli.main import main; main()"
        began = time.perf_counter()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", command, "label", str(photos), "--classes", ",".join(LETTERS), "--budget", "150",
                 "--campaign", str(campaign), "--no-browser", *options],
                stdout=log, stderr=log,
                env={"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "PYTHONUNBUFFERED": "1", **os.environ},
            )  # fmt: skip
        self.watch = Watch(self.process.pid)
        while "Label at" not in self.log.read_text():
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            time.sleep(0.05)
        self.seconds, self.cpu_seconds = time.perf_counter() - began, _cpu_seconds(self.process.pid)

    @property
    def key(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.campaign / ".label.json").read_text())
        return found

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.key['port']}"

    def stop(self) -> None:
        self.watch.stop()
        self.process.terminate()
        self.process.wait()


def label_until(page: Page, truth: dict[str, str], labels: int, *, complete: bool) -> dict[str, float]:
    """Label at a person's pace until there is a model, ``labels`` are given and, if asked for, all features are there.

    Return the seconds to each, and the longest silence before the first model.
    """
    client = Client(page)  # type: ignore[arg-type]
    client.http.timeout = 300.0  # type: ignore[assignment] — what counts is that an answer comes
    began = said = time.perf_counter()
    found: dict[str, float] = {}
    silence, last, given = 0.0, "", 0
    while "first_model" not in found or given < labels or (complete and "all_features" not in found):
        status = client.status()
        now = time.perf_counter()
        text = json.dumps([status["light"], status["training"], page.log.stat().st_size])
        if text != last or "first_model" in found:
            last, said = text, now
        silence = max(silence, now - said)
        if status["round"]:
            found.setdefault("first_model", now - began)
            if not status["training"]["features"]:
                found.setdefault("all_features", now - began)
        if given < labels:
            for task in client.next(want=1)["tasks"]:
                client.answer(task["image"], truth[task["image"]])
                given += 1
        time.sleep(_SECONDS_PER_LABEL)
    client.close()
    return found | {"silence": silence, "rounds": client_rounds(page)}


def client_rounds(page: Page) -> int:
    """Return the number of models so far."""
    client = Client(page)  # type: ignore[arg-type]
    rounds = int(client.status()["round"])
    client.close()
    return rounds


@contextmanager
def _place(given: str | None) -> Iterator[Path]:
    if given is not None:
        Path(given).mkdir(parents=True, exist_ok=True)
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="versionspace-bench-") as folder:
        yield Path(folder)


def run(
    files: int = 124_800, *, fast: bool = False, labels: int = 60, complete: bool = False, keep: str | None = None
) -> None:
    """Print one line for a folder of this many files."""
    with _place(keep) as root:
        photos, campaign, cache = root / f"letters-{files}", root / f"campaign-{time.time_ns()}", root / "cache"
        os.environ["VERSIONSPACE_CACHE"] = str(cache := root / f"cache-{time.time_ns()}")
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
        )
        draw_letters(photos, files)
        cold = Page(photos, campaign, fast)
        names = unpack_names(read_arrays(CampaignFolder(campaign).split))
        truth = {str(image): name[-5] for image, name in names.items()}
        found = label_until(cold, truth, labels, complete=complete)
        cold.stop()
        warm = Page(photos, campaign, fast)
        again = label_until(warm, truth, 5, complete=False)
        warm.stop()
        peak = max(cold.watch.peak, warm.watch.peak)
        stored = sum(path.stat().st_blocks * 512 for path in cache.rglob("*") if path.is_file())
        report(
            f"label page: a folder of {files:,} files" + (", thumbnails as features" if fast else ""),
            url_cold=cold.seconds, url_cold_cpu=cold.cpu_seconds, url_warm=warm.seconds, url_warm_cpu=warm.cpu_seconds,
            first_model=found["first_model"],
            all_features=found.get("all_features"), longest_silence=max(found["silence"], again["silence"]),
            rounds=found["rounds"], peak_anonymous_mb=peak / 1e6,
            server_mb=max(cold.watch.largest.get("server", 0), warm.watch.largest.get("server", 0)) / 1e6,
            trainer_mb=max(cold.watch.largest.get("trainer", 0), warm.watch.largest.get("trainer", 0)) / 1e6,
            cache_mb=stored / 1e6,
            target="url 30 s cold, 5 s warm; first model 180 s; silence 60 s; 2,000 MB of memory",
            met=cold.seconds < 30 and warm.seconds < 5 and found["first_model"] < 180 and peak < 2e9
            and found["silence"] < 60,
        )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=124_800)
    parser.add_argument("--labels", type=int, default=60)
    parser.add_argument("--fast", action="store_true", help="thumbnails in place of the pretrained network")
    parser.add_argument("--complete", action="store_true", help="wait until all features are computed")
    parser.add_argument("--keep", metavar="DIR", help="where folders are made and kept (default: deleted afterwards)")
    given = parser.parse_args()
    run(given.files, fast=given.fast, labels=given.labels, complete=given.complete, keep=given.keep)
