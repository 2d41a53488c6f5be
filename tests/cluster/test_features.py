"""Features extracted on a cluster: bitwise those of this machine, also after a worker was killed."""

import os
import signal

import numpy as np
import pytest
from PIL import Image

from cluster.conftest import descendants
from versionspace.cluster import extract_folder_on
from versionspace.cluster.tasks import run_tasks
from versionspace.data import read_features
from versionspace.errors import InputError, TrainingError
from versionspace.features import extract_folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    draw = np.random.default_rng(0)
    for i in range(20):
        Image.fromarray(draw.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(root / f"{i:02d}.png")
    (root / "broken.png").write_bytes(b"no image")
    return root


@pytest.mark.parametrize("store", ["shared", "copy"])
def test_features_are_those_of_this_machine(store, local, photos, tmp_path):
    here = extract_folder(photos, tmp_path / "here.parquet", "lite0", size=40)
    there = extract_folder_on(local(store=store), photos, tmp_path / "there.parquet", "lite0", size=40, shard_files=4)
    assert [one.file for one in there.skipped] == [one.file for one in here.skipped] == ["broken.png"]
    one, other = read_features(here.path), read_features(there.path)
    assert one.ids.tolist() == other.ids.tolist()
    np.testing.assert_array_equal(one.features, other.features)


def test_tasks_are_drawn_while_others_run_and_killed_ones_run_again(local, ray, tmp_path):
    drawn, most, killed = 0, 0, []

    def items():
        nonlocal drawn
        for number in range(30):
            drawn += 1
            yield number

    found = {}
    for number, (value, pid) in run_tasks(local(), ray, square, items(), 3):
        most = max(most, drawn - len(found))
        found[number] = value
        if number == 5:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    assert found == {i: i * i + 3 for i in range(30)}
    assert most <= 5
    assert killed[0] not in descendants(os.getpid())


def square(item, shared):
    return item * item + shared, os.getpid()


def failing(item):
    if item == 3:
        raise InputError("item", expected="another", got="3", fix="Leave it out.")
    if item == 4:
        raise ZeroDivisionError("by nothing")
    return item


@pytest.mark.parametrize(
    ("item", "kind", "message"),
    [(3, InputError, "^item: expected another, got 3"), (4, TrainingError, "^a task failed: ZeroDivisionError: by n")],
)
def test_an_error_is_that_of_the_task(item, kind, message, local, ray):
    with pytest.raises(kind, match=message):
        list(run_tasks(local(), ray, failing, [item]))
