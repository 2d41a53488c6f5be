"""The lock on a campaign's folder."""

import subprocess
import sys

import pytest

from versionspace.store import Lock, LockedError


def test_a_lock_excludes_others_until_its_process_ends(tmp_path):
    code = f"""
import sys, time
from pathlib import Path
from versionspace.store import Lock
Lock(Path({str(tmp_path)!r})).take(); print("held", flush=True); time.sleep(60)
"""
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"got one in use by process {holder.pid}"):
            Lock(tmp_path).take()
    finally:
        holder.kill()
        holder.communicate()
    with Lock(tmp_path):
        pass
