"""Label a folder of images from Python, export the labels and classify new images with the trained model.

Run with: python examples/label_a_folder.py [FOLDER]          (default: a temporary folder, deleted at the end)
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import versionspace as vs

CLASSES = ["zero", "one", "two"]


def write_images(folder, numbers):
    """Write digits as PNG files and return the class of each file: what a person would see in it."""
    folder.mkdir(parents=True)
    digits = load_digits()
    for number in numbers:
        Image.fromarray(np.uint8(digits.images[number] * 15)).save(folder / f"{number:04}.png")
    return {f"{number:04}.png": CLASSES[digits.target[number]] for number in numbers}


def versionspace(*arguments):
    """Run a command of versionspace, as you would in a terminal."""
    subprocess.run([sys.executable, "-m", "versionspace.cli", *map(str, arguments)], check=True, capture_output=True)


def main(work):
    """Label 30 of 250 images, then classify 100 others."""
    known = np.flatnonzero(load_digits().target < len(CLASSES))
    seen = write_images(work / "photos", known[:250])
    unseen = write_images(work / "new-photos", known[250:350])

    # The same campaign as that of `versionspace label photos/`: the page could continue it.
    with vs.label_folder(work / "photos", CLASSES, budget=30, net="small") as campaign:
        for proposal in campaign:
            answers = {image: seen[file] for image, file in zip(proposal.ids, proposal.files, strict=True)}
            campaign.accept(answers, who="simulated person")
            print(f"{proposal.purpose}: answered {len(answers)} images")

    versionspace("export", work / "photos.versionspace", "--labels", "csv", "--out", work / "labels.csv")
    with (work / "labels.csv").open(newline="") as file:
        print(f"labels exported: {len(list(csv.DictReader(file)))}")
    versionspace("export", work / "photos.versionspace", "--model", "safetensors", "--out", work / "model")
    versionspace("predict", work / "model", work / "new-photos", "--out", work / "predictions.csv")
    with (work / "predictions.csv").open(newline="") as file:
        right = [row["class"] == unseen[Path(row["file"]).name] for row in csv.DictReader(file)]
    print(f"accuracy on {len(right)} new images: {100 * np.mean(right):.1f}%")


if len(sys.argv) > 1:
    main(Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
