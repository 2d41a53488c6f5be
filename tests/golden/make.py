"""Make the golden folders anew: `PYTHONPATH=tests python -m golden.make`.

Run it only when the format of a campaign's folder changes on purpose; the new folders are then part of that change.

grid/       two methods, one seed, run to the end, with the first and last weights
killed/     two methods, one seed; the process was killed with SIGKILL in the third round of the first one
person/     images and a campaign in which a person labelled: audit, cold start, two rounds, a correction, a skip
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import versionspace as vs
from golden.summary import summary
from versionspace import data
from versionspace.campaign import Campaign
from versionspace.config import parse_config

HERE = Path(__file__).parent

GRID = """
keep = "{keep}"
[data]
name = "digits"
pool = 120
validation = 40
test = 60
initial = 10
[ensemble]
net = "small"
members = 2
[training]
like = "mnist"
rate = 2e-3
epochs = 3
[query]
size = 5
[budget]
total = 25
[grid]
methods = ["gvd", "random"]
seeds = [0]
"""
PERSON = """
[data]
name = "/photos"
classes = ["zero", "one", "two"]
balanced = false
size = 4
channels = 1
[ensemble]
net = "small"
members = 2
[training]
epochs = 2
[query]
method = "gvd-batch"
size = 4
[budget]
total = 24
audit = 6
[oracle]
kind = "person"
"""


def grid(keep: str, name: str, kill: bool) -> None:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    config = parse_config(GRID.format(keep=keep), "golden")
    if not kill:
        vs.run(config, out=folder, progress=False)
        return
    subprocess.run([sys.executable, "-m", "golden.make", "--killed"], check=False, timeout=120)


def killed() -> None:
    """Run the grid in this process and kill it in the third round."""

    def listen(news) -> None:
        if news.kind == "step" and news.round == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    vs.run(parse_config(GRID.format(keep="none"), "golden"), out=HERE / "killed", progress=listen)


def person() -> None:
    folder = HERE / "person"
    shutil.rmtree(folder, ignore_errors=True)
    photos = folder / "photos"
    photos.mkdir(parents=True)
    digits = data.load("digits").train
    truth = {}
    for number in range(3):
        for i in np.flatnonzero(digits.labels == number)[:15]:
            Image.fromarray(digits.images[i, ..., 0]).save(photos / f"{i:04d}.png")
            truth[f"{i:04d}.png"] = ("zero", "one", "two")[number]
    link = Path("/photos")
    link.symlink_to(photos)
    try:
        with Campaign.create(folder / "photos.versionspace", parse_config(PERSON, "golden")) as campaign:
            answered = []
            while len(campaign.state.metrics) < 2 and (proposal := campaign.propose()):
                answers = {i: truth[f] for i, f in zip(proposal.ids, proposal.files, strict=True)}
                campaign.accept(answers, who="ann")
                answered += [*answers.items()]
            last, right = answered[-1]
            campaign.accept({last: "zero" if right != "zero" else "one"}, who="ann")  # a mistake,
            campaign.accept({last: right}, who="bob")  # corrected
            proposal = campaign.propose()
            campaign.accept({proposal.ids[0]: None}, who="ann")
    finally:
        link.unlink()


def copied(name: str) -> list[dict[str, object]]:
    """The summary of a copy: reading makes files beside a ledger."""
    with tempfile.TemporaryDirectory() as folder:
        return summary(shutil.copytree(HERE / name, Path(folder) / "copy"))


if __name__ == "__main__":
    platform.node = lambda: "golden"  # the ledger records the host's name
    if "--killed" in sys.argv:
        killed()
    grid("ends", "grid", kill=False)
    grid("none", "killed", kill=True)
    person()
    for left in (*HERE.rglob("lock"), *HERE.rglob("*.sqlite-shm")):
        left.unlink()
    found = {name: copied(name) for name in ("grid", "killed", "person/photos.versionspace")}
    (HERE / "expected.json").write_text(json.dumps(found, indent=1) + "\n")
