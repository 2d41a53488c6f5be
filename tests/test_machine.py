import os

import pytest

from versionspace import machine

TWO_CORES = "processor\t: 0\nmodel name\t: Xeon: 2.1 GHz\nflags\t\t: sse avx\n\nprocessor\t: 1\nmodel name\t: Other\n"


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A file in place of /proc/cpuinfo."""
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(machine, "Path", lambda name: path if name == "/proc/cpuinfo" else None)
    machine.cpuinfo.cache_clear()
    yield path
    machine.cpuinfo.cache_clear()


def test_the_first_core_is_described(proc):
    proc.write_text(TWO_CORES)
    assert machine.cpuinfo() == {"processor": "0", "model name": "Xeon: 2.1 GHz", "flags": "sse avx"}
    assert machine.processor() == "Xeon: 2.1 GHz"


def test_without_proc_the_platform_names_the_processor(proc, monkeypatch):
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert machine.cpuinfo() == {}
    assert machine.processor() == "arm64"


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert machine.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.cores() == 1
