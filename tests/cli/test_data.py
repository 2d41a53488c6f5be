"""``versionspace data list``, ``fetch`` and ``info``."""

import sys

import numpy as np
import pytest
import typer
from PIL import Image
from scipy.io import savemat
from typer.testing import CliRunner

from versionspace.cli.data import data
from versionspace.data import DATASETS
from versionspace.errors import VersionspaceError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSIONSPACE_CACHE", str(tmp_path / "cache"))


def invoke(*arguments):
    app = typer.Typer()
    app.add_typer(data, name="data")
    return CliRunner().invoke(app, ["data", *arguments], env={"COLUMNS": "200", "TERM": "dumb"})


def run(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments):
    result = invoke(*arguments)
    assert isinstance(result.exception, VersionspaceError), result.output
    return str(result.exception)


@pytest.fixture
def svhn(tmp_path):
    folder = tmp_path / "svhn"
    folder.mkdir()
    for half, count in (("train", 20), ("test", 10)):
        y = 1 + np.arange(count) % 10
        savemat(folder / f"{half}_32x32.mat", {"X": np.zeros((32, 32, 3, count), np.uint8), "y": y[:, None]})
    return folder


def test_list_shows_every_dataset():
    listed = run("list")
    for name in DATASETS:
        assert f"{name} " in listed
    assert "73,257" in listed


def test_info_before_fetching():
    shown = run("info", "svhn")
    assert "non-commercial use only" in shown
    assert "no: versionspace data fetch svhn" in shown


def test_different_files_must_be_accepted_explicitly(svhn):
    told = refused("fetch", "svhn", "--from", str(svhn))
    assert "train_32x32.mat: expected md5:e26dedcc434d2e4c54c9b2d4a06d8373, got md5:" in told
    assert "--accept-different" in told
    done = run("fetch", "svhn", "--from", str(svhn), "--accept-different")
    assert "differ from the published files and were accepted" in done
    assert "svhn is cached and verified" in done
    assert "not the published files" in run("info", "svhn")
    assert "yes, different" in run("list")
    assert "svhn is cached and verified" in run("fetch", "svhn")


def test_the_cache_option(svhn, tmp_path):
    run("fetch", "svhn", "--from", str(svhn), "--accept-different", "--cache", str(tmp_path / "other"))
    assert (tmp_path / "other" / "svhn" / "dataset.json").exists()
    assert not (tmp_path / "cache").exists()


def test_digits_are_always_cached():
    assert "digits is cached" in run("fetch", "digits")


def test_info_reads_a_folder_and_lists_its_problems(tmp_path):
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    Image.new("L", (9, 9)).save(tmp_path / "photos" / "cat" / "[good].png")
    (tmp_path / "photos" / "cat" / "[bad].png").write_bytes(b"")
    shown = run("info", str(tmp_path / "photos"))
    assert "1 images, 1 labelled" in shown
    assert "skipped cat/[bad].png: the file is empty" in shown


def test_a_misspelt_name_gets_a_suggestion():
    assert "Did you mean 'cifar10'?" in refused("fetch", "cifar-10")


@pytest.mark.parametrize("command", ["list", "fetch", "info"])
def test_the_help_of_every_command_has_an_example(command):
    assert f"Example: versionspace data {command}" in run(command, "--help")


def test_the_help_imports_no_heavy_package():
    import subprocess

    code = "import sys, versionspace.cli.data; print(sorted({'torch', 'sklearn', 'scipy', 'PIL'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_info_describes_a_features_file(tmp_path):
    np.savez(tmp_path / "emb.npz", features=np.eye(3, 5), labels=["cat", "", "dog"], ids=["a", "b", "c"])
    result = invoke("info", str(tmp_path / "emb.npz"))
    assert result.exit_code == 0
    for text in ("3, 2 labelled", "5 of type float64", "from a to c", "cat, dog"):
        assert text in result.output
    np.save(tmp_path / "emb.npy", np.full((2, 2), np.nan))
    result = invoke("info", str(tmp_path / "emb.npy"))
    assert (result.exit_code, "row 0: expected finite features" in str(result.exception)) == (1, True)
