"""Files that appear whole or not at all."""

import os
from contextlib import suppress

from versionspace.data.cache import STALE, replacing, staging


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_in_one_step(tmp_path):
    """Whoever has the old file open keeps it: it is another file that takes its name."""
    target = tmp_path / "x"
    target.write_text("old")
    (tmp_path / "same").hardlink_to(target)
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert (tmp_path / "same").read_text() == "old"
    assert names(tmp_path) == ["same", "x"]


def test_a_failure_leaves_the_old_file_alone(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    with suppress(KeyError), replacing(target) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert target.read_text() == "old"
    assert names(tmp_path) == ["x"]


def test_work_in_progress_goes_afterwards_and_what_was_abandoned_after_a_day(tmp_path):
    old, fresh = tmp_path / ".staging-old", tmp_path / ".staging-fresh"
    for folder in (old, fresh):
        folder.mkdir()
        (folder / "x").write_text("half")
    past = fresh.stat().st_mtime - STALE - 60
    os.utime(old, (past, past))
    with suppress(KeyError), staging(tmp_path) as workshop:
        (workshop / "y").write_text("half")
        assert names(tmp_path) == sorted([".staging-fresh", workshop.name])
        raise KeyError
    assert names(tmp_path) == [".staging-fresh"]
