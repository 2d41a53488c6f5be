"""Torch devices, thread pools and memory.

The unit of parallel work is a group of members: each group runs on one thread, several groups at a time. Results are
then bitwise independent of the number of threads, and small networks do not synchronise threads after every layer.
"""

import ctypes
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch

from versionspace.errors import InputError, TrainingError
from versionspace.machine import cores, cpuinfo, processor

Item = TypeVar("Item")
Result = TypeVar("Result")

_CPU_KEYS = ("cpu family", "model", "CPU implementer", "CPU part")
"""Entries of /proc/cpuinfo, on x86 and ARM, that distinguish processors with the same model name (as in clouds)."""


def pick_device(name: str) -> torch.device:
    """Return the device of this name; "auto" is a GPU if there is one, else the CPU.

    A GPU is returned with its index, because every thread has its own current device. Raises `InputError` if the
    device is unknown or not available.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        if name == "cuda":
            device = torch.device("cuda", torch.cuda.current_device())
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            "device",
            expected="'auto', 'cpu' or a device of this machine",
            got=repr(name),
            fix=f"{reason}. In a campaign, the key is machine.device, which may change on resume.",
        ) from error
    return device


def arithmetic(device: torch.device) -> str:
    """Return a name of the hardware that determines rounding.

    Other processors add numbers in a different order. The results differ in their last bits, and so do the networks
    trained on them.
    """
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    model = "-".join(cpuinfo()[key] for key in _CPU_KEYS if key in cpuinfo())
    cpu = ", ".join(filter(None, [processor(), model, torch.backends.cpu.get_cpu_capability()]))
    return cpu if device.type == "cpu" else f"{device.type} of {cpu}"


def pick_threads(threads: int | None) -> int:
    """Return the number of threads to use; None means all cores that the process may use."""
    if threads is None:
        return cores()
    if threads < 1:
        raise InputError("threads", expected="at least 1, or None", got=repr(threads), fix="None uses all cores.")
    return threads


@cache
def keep_memory() -> bool:
    """Make glibc keep freed memory, and return whether that succeeded.

    Returning it to the system page by page takes a tenth of a training step.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    threshold, trim = -3, -1  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
    return bool((mallopt(threshold, 1 << 30) or mallopt(threshold, 32 << 20)) and mallopt(trim, 2**31 - 1))


_ADVICE = {
    "training": "fewer threads (each trains a group of members), a smaller batch or smaller images",
    "predicting": "fewer threads (each processes some of the images), smaller images or fewer images per call",
}


@contextmanager
def enough_memory(activity: str) -> Iterator[None]:
    """Raise `TrainingError` with advice if memory runs out while "training" or "predicting"."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        message = str(error)
        if not isinstance(error, MemoryError) and not re.search("(out of|allocate|not enough) memory", message, re.I):
            raise
        raise TrainingError(
            f"memory ran out while {activity}. Try {_ADVICE[activity]}. "
            f"The error was: {message.splitlines()[0] if message else 'out of memory'}"
        ) from error


class StoppedError(Exception):
    """Work ended early because other work failed or the user pressed Ctrl-C. Never propagates to a caller."""


def side_by_side(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int, stop: threading.Event | None = None
) -> list[Result]:
    """Return ``[work(item) for item in items]``, computed on several threads, one item per thread at a time.

    On the first error or Ctrl-C, waiting items are cancelled and ``stop`` is set, on which running work should raise
    `StoppedError`; the error is raised when the running work has ended.
    """
    todo = list(items)
    before = torch.get_num_threads()
    stop = stop or threading.Event()
    try:
        with ThreadPoolExecutor(min(threads, len(todo)), initializer=torch.set_num_threads, initargs=(1,)) as pool:
            futures = [pool.submit(work, item) for item in todo]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done() and not isinstance(future.exception(), StoppedError):
                        future.result()
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [future.result() for future in futures]
    finally:
        torch.set_num_threads(before)
