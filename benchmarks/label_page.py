"""The labelling page during training: latency in a real browser, and throughput with many annotators.

The first case labels photographs of 2,000 × 1,500 pixels by keyboard in Debian's Chromium, at a person's pace, with the
settings that `versionspace label` chooses. Latency is the time from the key event's own time stamp to the frame after
the next image is decoded and in the page. In the second case 20 annotators label 10,000 images as fast as the server
accepts them. Neither waits for the model.
"""

import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

from benchmarks.measure import report

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from label.conftest import CHROMIUM, SWITCHES
from label.crowd import Crowd
from label.serving import Server, quick
from versionspace.campaign import create_folder
from versionspace.label import new_config
from versionspace.store import Ledger, read_campaign

CLASSES = ("temple", "flower")
_WATCH = """
window.taken = [];
let pressed = 0;
addEventListener('keydown', event => { pressed = event.timeStamp; }, true);
addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
  const from = pressed, image = document.querySelector('#frame img.picture');
  if (!from || !image) return;
  pressed = 0;
  const shown = () => requestAnimationFrame(() => requestAnimationFrame(() => taken.push(performance.now() - from)));
  image.complete && image.naturalWidth ? shown() : image.addEventListener('load', shown);
}).observe(document.querySelector('#frame'), { childList: true }));
"""


def photographs(folder: Path, count: int) -> dict[str, str]:
    """Write crops of scikit-learn's two photographs, as large as a camera's; return their classes by id."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(0)
    truth = {}
    for number in range(count):
        name = CLASSES[number % 2]
        whole = load_sample_images().images[number % 2]
        side = int(generator.integers(150, 400))
        y, x = (int(generator.integers(0, whole.shape[axis] - side)) for axis in (0, 1))
        path = folder / f"{number:05d}.jpg"
        Image.fromarray(whole[y : y + side, x : x + side]).resize((2000, 1500)).save(path, quality=90)
        truth[sha256(path.read_bytes()).hexdigest()] = name
    return truth


def noise(folder: Path, count: int) -> dict[str, str]:
    """Write small noise images with a bright part, whose width is the class; return their classes by id."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(1)
    truth = {}
    for number in range(count):
        pixels = generator.integers(0, 120, (8, 8)).astype(np.uint8)
        name = CLASSES[number % 2]
        pixels[:, : 4 if name == "temple" else 8] += 60
        path = folder / f"{number:05d}.png"
        Image.fromarray(pixels).save(path)
        truth[sha256(path.read_bytes()).hexdigest()] = name
    return truth


@contextmanager
def temporary_root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="versionspace-bench-") as folder:
        os.environ["VERSIONSPACE_CACHE"] = f"{folder}/cache"
        yield Path(folder)


def latency(net: str, labels: int = 150) -> None:
    from playwright.sync_api import sync_playwright

    with temporary_root() as root:
        truth = photographs(root / "photos", 400)
        config, _ = new_config(root / "photos", CLASSES, budget=labels, net=net)
        folder = root / "photos.versionspace"
        create_folder(folder, config)
        pace = random.Random(0)
        trained = 0
        with Server(folder) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
            page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            page.add_init_script(_WATCH)
            page.goto(server.address)
            page.wait_for_selector("#frame img.picture")
            time.sleep(1)
            for _ in range(labels - 1):
                image = str(page.locator("#frame img.picture").get_attribute("src")).rpartition("/")[2]
                page.keyboard.press(str(CLASSES.index(truth[image]) + 1))
                time.sleep(pace.uniform(0.4, 1.2))
                trained += "training" in page.locator("#model").inner_text()
            taken = np.array(page.evaluate("window.taken"))
            browser.close()
            server.stop()
        rounds = len(read_campaign(folder).measured_rounds())
    report(
        f"label page: from key to next image, photographs of 3 megapixels, training {net} meanwhile", clicks=len(taken),
        median_ms=float(np.median(taken)), p95_ms=float(np.quantile(taken, 0.95)), most_ms=float(taken.max()),
        rounds_trained=rounds, share_of_clicks_while_training=trained / (labels - 1), target="p95 < 50 ms",
        met=bool(np.quantile(taken, 0.95) < 50) and len(taken) == labels - 1,
    )  # fmt: skip


def throughput(people: int = 20, labels: int = 10_000) -> None:
    with temporary_root() as root:
        truth = noise(root / "photos", int(labels * 1.4))
        changes: dict[str, Any] = {"budget": {"audit": 50}, "ensemble": {"members": 5}}
        folder = quick(root / "photos", CLASSES, labels, **changes)
        with Server(folder) as server:
            server.truth = truth
            began = time.perf_counter()
            found = Crowd(server, people, labels * 2).run()
            spent = time.perf_counter() - began
            server.stop()
        record = read_campaign(folder)
        with Ledger.view(folder / "ledger.sqlite") as ledger:
            events = [e for e in ledger.events() if e.kind == "answered"]
        stored = {e.uid for e in events}
        times = Counter(image for image, _ in found.acknowledged.values())
        twice = sum(n > 1 and image not in found.again for image, n in times.items())
    lost = len(set(found.acknowledged) - stored)
    double = len(events) - len(stored)
    report(
        f"label page: {people} annotators, {labels:,} labels, training meanwhile", seconds=spent,
        labels_a_second=len(events) / spent, p95_ms=float(np.quantile(found.seconds, 0.95)) * 1000,
        most_ms=max(found.seconds) * 1000, errors=len(found.errors), lost=lost, stored_twice=double,
        asked_twice=twice, second_looks=len(found.again), waits=found.waits,
        rounds_trained=len(record.measured_rounds()),
        target="no error, none lost, none twice", met=not (found.errors or lost or double or twice)
        and record.spent == labels,
    )  # fmt: skip


def run() -> None:
    latency("heads")
    latency("small")
    throughput()


if __name__ == "__main__":
    run()
