"""Child processes that exchange lines of text with their parent over standard input and output.

The parent starts a child with `start_child`, writes to it with `send_line` and reads from it with `forward_lines`. The
child calls `connect_to_parent` once. It exits when its standard input ends, so it never outlives its parent.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import IO, Any

_PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
"""Idle OpenMP threads sleep instead of spinning, which leaves the cores to other processes."""


def start_child(module: str, *arguments: str, stderr: IO[str] | None = None) -> "subprocess.Popen[str]":
    """Start ``python -m module arguments…`` with pipes for its input and output.

    The child gets a process group of its own: Ctrl-C in a terminal reaches a whole group, and only the parent may
    react to it.
    """
    group: dict[str, Any] = (
        {"process_group": 0}
        if os.name == "posix"
        else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    )
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
        text=True, bufsize=1, env={**_PASSIVE, **os.environ}, **group,
    )  # fmt: skip


def send_line(child: "subprocess.Popen[str]", line: str) -> bool:
    """Write a line, which includes its newline, to a child; return False if the child no longer reads."""
    assert child.stdin is not None
    try:
        child.stdin.write(line)
        child.stdin.flush()
    except OSError:
        return False
    return True


def forward_lines(lines: Iterable[str], receive: Callable[[str], None]) -> None:
    """Pass every line to ``receive``, then an empty string when the stream ends, is closed or is not valid text."""
    try:
        with contextlib.suppress(OSError, ValueError):
            for line in lines:
                receive(line)
    finally:
        receive("")


def close_input(child: "subprocess.Popen[str]") -> None:
    """Close the child's standard input, which tells it to exit."""
    if child.stdin is not None:
        with contextlib.suppress(OSError):  # a child that has exited leaves unread lines in the buffer
            child.stdin.close()


def wait_or_kill(child: "subprocess.Popen[str]", timeout: float) -> None:
    """Wait up to ``timeout`` seconds for a child to exit, then kill it."""
    try:
        child.wait(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def connect_to_parent(receive: Callable[[str], None]) -> Callable[[str], None]:
    """Connect this child process to its parent and return a thread-safe function that sends the parent a line.

    A thread passes every line from the parent to ``receive``. When the input ends, the process exits at once, even in
    the middle of a long call. Ctrl-C is ignored: the parent decides. `print` writes to standard error from now on, so
    that the output of libraries does not mix with the lines for the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    to_parent, sys.stdout = sys.stdout, sys.stderr
    lock = threading.Lock()

    def send(line: str) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            to_parent.write(line)
            to_parent.flush()

    def listen() -> None:
        for line in sys.stdin:
            receive(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return send


def _die_with_parent() -> None:
    """On Linux, have the kernel kill this process as soon as its parent dies."""
    if sys.platform.startswith("linux"):
        parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
