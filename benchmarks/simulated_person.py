"""What the labels are worth that the labelling page asks for: a simulated person answers from the true classes.

The campaign, its service and its trainer process are those of ``versionspace label``. The person takes two seconds for
a label, as far as the page can tell, and waits until the model has been trained. After every 25 labels a classifier is
trained on those given so far, as the page trains it, and its accuracy on other images is measured; the labels of the
audit are not trained on. The controls are ``--method random`` and a logistic regression on as many random labels.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import report
from versionspace import Heads, data
from versionspace.features import CachedExtractor, make_extractor
from versionspace.label import label_folder
from versionspace.label.messages import Answer
from versionspace.label.service import LabelService
from versionspace.label.supervisor import Supervisor
from versionspace.store import as_ids
from versionspace.types import Array

DATASETS = ("stl10", "cifar10")
BUDGET, STEP, SEEDS = 150, 25, 5
IMAGES, TEST = 2_000, 800
_SECONDS = 2.0


def write_folder(folder: Path, name: str, seed: int) -> tuple[Array, Array, tuple[str, ...]]:
    """Write images of a dataset as files named by number; return the classes of these and of other images."""
    whole = data.load(name)
    rows = np.random.default_rng(seed).permutation(len(whole.train))[: IMAGES + TEST]
    pixels, labels = np.asarray(whole.train.view(whole.train.ids[np.sort(rows)])), whole.train.labels[np.sort(rows)]
    order = np.random.default_rng(seed + 1).permutation(len(rows))
    pixels, labels = pixels[order], labels[order]
    for part, start, count in (("photos", 0, IMAGES), ("test", IMAGES, TEST)):
        (folder / part).mkdir(parents=True)
        for number in range(count):
            image = pixels[start + number]
            Image.fromarray(image[..., 0] if image.shape[2] == 1 else image).save(folder / part / f"{number:05d}.png")
    return labels[:IMAGES], labels[IMAGES:], tuple(whole.classes)


def labels_given(folder: Path, truth: Array, classes: tuple[str, ...], method: str | None, seed: int) -> list[int]:
    """Label a folder as a person would; return the rows of the labels to train on, in the order they were given."""
    campaign = label_folder(
        folder / "photos", classes, budget=BUDGET, method=method, campaign=folder / f"{method or 'default'}-{seed}"
    )
    row_of = {image: int(Path(file).stem) for image, file in campaign.images.files.items()}
    with campaign:
        service = LabelService(campaign)
        supervisor = Supervisor(service).start()
        try:
            for number, image in enumerate(_questions(service, supervisor)):
                answer = Answer(f"{number}", "class", image, classes[truth[row_of[image]]], seconds=_SECONDS)
                service.answer("tab", "", [answer])
        finally:
            supervisor.close()
        return [row_of[image] for image in as_ids(np.array(list(campaign.state.training_labels())))]


def _questions(service: LabelService, supervisor: Supervisor) -> Iterator[str]:
    """Yield images until the budget is spent; whenever a round is due, wait until it has been committed."""
    while True:
        while service.next_round_size() is not None or supervisor.status().stage not in ("idle", "down"):
            time.sleep(0.02)
        batch = service.next_questions("tab", "", (), 1)
        if not batch.questions:
            return
        yield str(batch.questions[0].image)


def compare(name: str, seed: int) -> dict[str, list[float]]:
    """Return the accuracy after every `STEP` labels, by what was labelled and trained."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        truth, wanted, classes = write_folder(folder, name, seed)
        features, test = _features(folder / "photos"), _features(folder / "test")
        found: dict[str, list[float]] = {}
        for method in (None, "random"):
            rows = labels_given(folder, truth, classes, method, seed)
            found[method or "default"] = [
                _heads_accuracy(features, truth, rows[:n], test, wanted, len(classes))
                for n in range(STEP, len(rows) + 1, STEP)
            ]
        drawn = np.random.default_rng(seed).permutation(IMAGES)
        found["logistic regression"] = [
            float((LogisticRegression(max_iter=500).fit(features[some], truth[some]).predict(test) == wanted).mean())
            for some in (drawn[:n] for n in range(STEP, BUDGET + 1, STEP))
        ]
    return found


def _features(folder: Path) -> Array:
    """Return the features of a folder's images, by the number in their names."""
    images = data.load(str(folder), size=160, progress=False).train
    computed = CachedExtractor(make_extractor("lite0"), threads=2)(np.asarray(images.images))
    return computed[np.argsort([int(Path(file).stem) for file in images.files or ()])]


def _heads_accuracy(features: Array, truth: Array, rows: list[int], test: Array, wanted: Array, classes: int) -> float:
    heads = Heads(members=10, classes=classes, progress=False)
    heads.normalisation = heads.statistics(features)
    heads.fit(features[rows], truth[rows])
    return float((heads.opinions(test).majority == wanted).mean())


def run(seeds: int = SEEDS) -> None:
    for name in DATASETS:
        found = [compare(name, seed) for seed in range(seeds)]
        mean = {who: np.mean([one[who][: len(found[0]["default"])] for one in found], axis=0) for who in found[0]}
        ahead = {who: mean["default"] - mean[who] for who in mean if who != "default"}
        report(
            f"a simulated person labels {name}, {BUDGET} labels, {seeds} seeds",
            **{f"accuracy of {who}": [round(100 * float(x), 1) for x in mean[who]] for who in mean},
            target="default ahead of both by 4 points in the mean, at every 25 labels",
            met=all(float(np.mean(lead)) >= 0.04 and float(lead.min()) > 0 for lead in ahead.values()),
        )
