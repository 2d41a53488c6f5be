"""A missing optional package is reported with the command that installs it."""

import subprocess
import sys
import tomllib

import pytest

import versionspace as vs
from versionspace.cli.main import main
from versionspace.errors import MissingPackageError
from versionspace.extras import EXTRAS, require


def test_every_extra_exists(repository):
    config = tomllib.loads((repository / "pyproject.toml").read_text())
    assert set(EXTRAS.values()) <= set(config["project"]["optional-dependencies"])


@pytest.mark.parametrize(
    ("module", "extra", "fix"),
    [
        ("torch", None, "versionspace[train]"),
        ("torch.nn", None, "versionspace[train]"),
        ("torch", "onnx", "versionspace[onnx]"),
        ("not_a_package.at_all", None, "not_a_package"),
    ],
)
def test_a_missing_package_names_its_extra(module, extra, fix, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as caught:
        require(module, extra)
    assert caught.value.name == module.partition(".")[0]
    assert caught.value.fix == f"Install it with: pip install '{fix}'"
    assert isinstance(caught.value, ImportError)
    assert str(caught.value).startswith(f"{caught.value.name}: expected this Python package to be installed, got ")


def test_a_package_that_another_module_imports_is_named(tmp_path, monkeypatch):
    (tmp_path / "needs_matplotlib.py").write_text("import matplotlib.style\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    with pytest.raises(MissingPackageError, match=r"^matplotlib: .*'versionspace\[report\]'$"):
        require("needs_matplotlib")


def test_a_module_of_our_own_that_is_missing_is_no_package_to_install():
    with pytest.raises(ModuleNotFoundError, match="versionspace.no_such_module"):
        require("versionspace.no_such_module")


BLOCK = """
import sys
class Block:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("torch", "pydantic"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""


def test_public_names_say_which_extra_they_require():
    """In a new process: in this one, the packages are imported already."""
    code = """
import versionspace as vs
for name in ("Ensemble", "Campaign", "run", "label_folder"):
    try:
        getattr(vs, name)
    except ImportError as error:
        print(type(error).__name__, name, error.fix.rpartition(" ")[2])
"""
    done = subprocess.run([sys.executable, "-c", BLOCK + code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "MissingPackageError Ensemble 'versionspace[run]'",
        "MissingPackageError Campaign 'versionspace[run]'",
        "MissingPackageError run 'versionspace[run]'",
        "MissingPackageError label_folder 'versionspace[label]'",
    ]


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("torch.nn", "torch", "run"),
        ("scipy", "scipy", "run"),
        ("fastapi", "fastapi", "label"),
        ("jinja2", "jinja2", "report"),
    ],
)
def test_a_command_says_which_extra_it_requires(module, package, extra, monkeypatch, capsys):
    def command(prog_name):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(sys.modules["versionspace.cli.main"], "app", command)
    with pytest.raises(SystemExit, match="2"):
        main()
    printed = capsys.readouterr().err
    assert printed.startswith(f"error {package}: expected")
    assert printed.endswith(f"pip install 'versionspace[{extra}]'\n")


def test_a_command_does_not_hide_a_defect_of_ours(monkeypatch):
    def command(prog_name):
        raise ModuleNotFoundError("No module named 'versionspace.typo'", name="versionspace.typo")

    monkeypatch.setattr(sys.modules["versionspace.cli.main"], "app", command)
    with pytest.raises(ModuleNotFoundError, match="typo"):
        main()


def test_an_unknown_attribute_is_pythons_own_error():
    with pytest.raises(AttributeError, match="module 'versionspace' has no attribute 'Ensembl'"):
        vs.Ensembl  # noqa: B018
