"""The number of cores that this process may use, the processor of this machine, and memory that is given back to it."""

import contextlib
import ctypes
import gc
import os
import platform
import sys
from functools import cache
from pathlib import Path


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the model name of the processor."""
    return cpuinfo().get("model name") or platform.processor() or platform.machine()


@cache
def cpuinfo() -> dict[str, str]:
    """Return what Linux reports about the first core; an empty dict on other systems."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").strip().split("\n\n")[0]
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}


def release_memory() -> None:
    """Return freed memory to the system, after work that needed much for a short time. Does nothing but on Linux."""
    gc.collect()
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
