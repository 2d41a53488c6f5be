"""A campaign on digits that takes a second: real networks, few of them, hardly trained."""

from versionspace.config import read_text

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
    return read_text(toml, "tiny", changes)
