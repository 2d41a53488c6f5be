"""Child processes: what they print does not reach the parent, and they never outlive it."""

import os
import queue
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from versionspace.subprocesses import close_input, forward_lines, send_line, start_child, wait_or_kill

ECHO = """
    import queue
    from versionspace.subprocesses import connect_to_parent

    lines = queue.Queue()
    send = connect_to_parent(lines.put)
    while True:
        line = lines.get()
        print("a library prints this")
        send("got " + line)
"""
DEAF = """
    import time
    from versionspace.subprocesses import connect_to_parent

    connect_to_parent(lambda line: None)("ready\\n")
    time.sleep(600)
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    """Start a program as a module; kill it in the end."""
    started = []

    def start(program, stderr=None):
        (tmp_path / "program_of_a_test.py").write_text(textwrap.dedent(program))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
        started.append(start_child("program_of_a_test", stderr=stderr))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_only_lines_sent_to_the_parent_arrive_there(child, tmp_path):
    with (tmp_path / "errors").open("w") as errors:
        process = child(ECHO, errors)
    assert send_line(process, "one\n")
    assert process.stdout.readline() == "got one\n"
    close_input(process)
    assert process.wait(timeout=10) == 0
    assert (tmp_path / "errors").read_text() == "a library prints this\n"


def test_a_child_exits_in_the_middle_of_a_call_when_its_input_ends(child):
    process = child(DEAF)
    assert process.stdout.readline() == "ready\n"
    close_input(process)
    assert process.wait(timeout=10) == 0


def test_a_child_that_does_not_exit_is_killed(child):
    process = child("import time; print('ready', flush=True); time.sleep(600)")
    assert process.stdout.readline() == "ready\n"
    close_input(process)
    wait_or_kill(process, timeout=0.1)
    assert process.returncode != 0


def test_sending_to_a_child_that_has_exited_returns_false(child):
    process = child("")
    process.wait(timeout=10)
    assert not send_line(process, "anyone there?\n")
    close_input(process)
    assert process.stdin.closed


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_a_child_has_its_own_process_group_and_sleeping_threads(child, monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    process = child("import os; print(os.getpgrp(), os.environ['OMP_WAIT_POLICY'], flush=True)")
    assert process.stdout.readline() == f"{process.pid} PASSIVE\n"
    assert os.getpgrp() != process.pid


def test_lines_are_forwarded_until_the_stream_ends_or_is_not_text():
    received = queue.SimpleQueue()

    def undecodable():
        yield "one\n"
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    for lines in (["one\n"], undecodable()):
        threading.Thread(target=forward_lines, args=(lines, received.put)).start()
        assert [received.get(timeout=5), received.get(timeout=5)] == ["one\n", ""]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="parent-death signals exist on Linux only")
def test_a_child_dies_with_its_parent_though_others_hold_its_input_open(tmp_path, monkeypatch):
    (tmp_path / "program_of_a_test.py").write_text(textwrap.dedent(DEAF))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    parent = """
        import os, time
        from versionspace.subprocesses import start_child
        process = start_child("program_of_a_test")
        process.stdout.readline()
        if not os.fork():
            time.sleep(5)  # inherits the write end of the child's input
            os._exit(0)
        print(process.pid, flush=True)
        time.sleep(600)
    """
    started = subprocess.Popen([sys.executable, "-c", textwrap.dedent(parent)], stdout=subprocess.PIPE, text=True)
    pid = int(started.stdout.readline())
    started.kill()
    started.wait()
    started.stdout.close()
    limit = time.monotonic() + 4
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < limit, "the child outlived its parent"
        time.sleep(0.02)
