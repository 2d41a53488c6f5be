"""Campaigns on disk for the tests of the store: one that has ended, and one that a person labels."""

import shutil
import subprocess

import pytest

from campaign.tiny import config
from versionspace.campaign import Campaign


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a campaign that has ended, in the folder of a grid; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "gvd" / "0"
    with Campaign.create(folder, config()) as campaign:
        campaign.run()
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of `finished`."""
    return shutil.copytree(finished, tmp_path / "copy")


class Person:
    """An open campaign on digits that a person labels, three rounds old. Each round deletes the previous weights."""

    def __init__(self, campaign):
        self.campaign, self.path = campaign, campaign.folder.path
        while self.round < 3:
            self.answer()

    @property
    def round(self):
        return max(self.campaign.state.metrics, default=0)

    def answer(self):
        self.campaign.accept(dict.fromkeys(self.campaign.propose().ids, "3"))

    def finish_round(self):
        """Answer until one more round is committed."""
        before = self.round
        while self.round == before:
            self.answer()


@pytest.fixture
def person(tmp_path):
    changes = ("oracle.kind=person", "cold_start.size=4", "query.size=3", "budget.total=60", "training.epochs=1")
    with Campaign.create(tmp_path / "live", config(*changes)) as campaign:
        yield Person(campaign)


@pytest.fixture
def mount():
    """Mount a small or read-only disk for the duration of a test; skip the test where mounting is not allowed."""
    mounts = []

    def mounted(path, *options):
        path.mkdir(exist_ok=True)
        done = subprocess.run(["mount", *options, str(path)], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"NOT TESTED, since mounting is not allowed here: {done.stderr.strip()}")
        mounts.append(path)
        return path

    yield mounted
    for path in mounts:
        subprocess.run(["umount", "-l", str(path)], check=False)
