"""A process that has imported all that is heavy and forks one run after another: killing hits the run, not imports.

Reads lines ``TOML OUT MOMENT`` and answers with the process id of the run, which leads a session of its own, and then
with its exit code and the number of writes. A moment above 0 is the write in whose midst the run kills itself: a file
renamed into place or synced, or a transaction.
"""

import os
import signal
import sys
from pathlib import Path

import torch  # noqa: F401 — before the fork

from versionspace.campaign import local_executor as processes  # noqa: F401
from versionspace.campaign.grid import run
from versionspace.data import load
from versionspace.store import Ledger

writes = []


def counted(real, moment):
    def wrapped(*args, **kwargs):
        writes.append(real.__name__)
        if len(writes) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    return wrapped


def forked(toml, out, moment):
    os.setsid()
    for owner, name in ((Path, "replace"), (Path, "rename"), (os, "fsync"), (Ledger, "append")):
        setattr(owner, name, counted(getattr(owner, name), moment))
    made = run(toml, methods=["gvd", "random"], seeds=[0], out=out, progress=False)
    print(len(writes), flush=True)
    os._exit(1 if made.failed else 0)


def main():
    load("digits")
    for line in sys.stdin:
        toml, out, moment = line.split()
        pid = os.fork()
        if pid == 0:
            forked(toml, out, int(moment))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main()
