"""Configs of campaigns that take a second: few real networks, trained for few epochs."""

import numpy as np
from PIL import Image

from versionspace import data
from versionspace.config import parse_config
from versionspace.store import read_campaign

TOML = """
[data]
name = "digits"
pool = 150
validation = 40
test = 60
initial = 10
[ensemble]
net = "small"
members = 3
[training]
like = "mnist"
rate = 2e-3
epochs = 3
[query]
size = 5
[budget]
total = 25
"""


def config(*changes, toml=TOML):
    return parse_config(toml, "tiny", changes)


def run_campaign(folder, *changes):
    """Run a campaign with `config` to its end; return its record."""
    from versionspace.campaign import Campaign  # imports torch

    with Campaign.create(folder, config(*changes)) as campaign:
        campaign.run()
    return read_campaign(folder)


def class_folders(root):
    """Write class folders with twenty digits of each of three classes; return their root."""
    digits = data.load("digits").train
    for number in (1, 2, 3):
        (root / f"class{number}").mkdir(parents=True)
        for i in np.flatnonzero(digits.labels == number)[:20]:
            Image.fromarray(digits.images[i, ..., 0]).save(root / f"class{number}" / f"{i}.png")
    return root


FOLDER = """
[data]
name = "{photos}"
size = 8
channels = 1
initial = 3
[ensemble]
members = 2
[training]
epochs = 1
[query]
size = 3
[budget]
total = 9
"""


def of_folder(photos, *changes):
    """Return the config of a campaign on `class_folders`."""
    return parse_config(FOLDER.format(photos=photos), "photos", changes)
