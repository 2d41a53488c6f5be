"""The package as users see it: its imports, its documentation, its wheel."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

import versionspace as vs


def python(code, interpreter=sys.executable, **environment):
    done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_no_heavy_package():
    heavy = "{'torch', 'sklearn', 'scipy', 'matplotlib', 'pandas', 'typer', 'rich', 'multiprocessing'}"
    assert python(f"import sys, versionspace; print(sorted({heavy} & set(sys.modules)))") == "[]\n"


def test_a_query_does_not_import_torch():
    code = """
import sys, numpy as np, versionspace as vs
pool = np.array([[0, 1], [1, 1]])
vs.query("gvd", 1, pool=pool, reference=pool, vote="hard")
print("torch" in sys.modules)
"""
    assert python(code) == "False\n"


def test_every_public_name_exists_and_is_documented():
    for name in vs.__all__:
        assert getattr(vs, name) is not None
        if callable(getattr(vs, name)):
            assert getattr(vs, name).__doc__


def test_every_public_function_has_an_example():
    for name in vs.__all__:
        value = getattr(vs, name)
        if callable(value) and name not in {"VersionspaceError", "ProjectionDistance"}:
            assert ">>>" in value.__doc__, name


def test_the_changelog_starts_with_this_version(repository):
    newest = re.search(r"^## (\S+)", (repository / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == vs.__version__


def test_the_readme_examples_run(repository):
    blocks = re.findall(r"```python\n(.*?)```", (repository / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    python("\n".join(blocks))


def test_the_readme_lists_every_file_of_the_core(repository):
    tree = (repository / "README.md").read_text()
    for path in (repository / "src" / "versionspace").rglob("*.[pc]*"):
        if path.suffix in (".py", ".c") and not path.name.startswith("__") and path.parent.name in ("space", "query"):
            assert path.name in tree, path.name


def test_documents_that_the_source_mentions_exist(repository):
    for path in (repository / "src" / "versionspace").rglob("*.py"):
        for page in re.findall(r"docs/[\w-]+\.md", path.read_text()):
            assert (repository / page).exists(), f"{path.name}: {page}"


def test_the_import_contracts_cover_the_core(repository):
    config = tomllib.loads((repository / "pyproject.toml").read_text())
    layers, forbidden = config["tool"]["importlinter"]["contracts"]
    assert layers["type"] == "layers"
    assert {"versionspace.space", "versionspace.query"} == set(forbidden["source_modules"])
    assert "torch" in forbidden["forbidden_modules"]


@pytest.mark.slow
def test_the_wheel_works_in_a_new_environment(repository, tmp_path):
    source = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, check=True).stdout
    for name in tracked.decode().split("\0")[:-1]:
        if (repository / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((repository / name).read_bytes())
    build = [sys.executable, "-m", "build", "--outdir", str(tmp_path / "dist"), str(source)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("versionspace/py.typed", "versionspace/space/_kernels.pyi", "versionspace/space/_kernels.abi3.so"):
        assert needed in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "benchmarks", "examples")) for name in names)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "empty")], check=True)
    interpreter = str(tmp_path / "empty" / "bin" / "python")
    install = [interpreter, "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    code = """
import versionspace as vs
from versionspace.space import kernels
assert kernels.COMPILED
print(vs.query("gvd", 1, pool=[[0, 0, 1], [0, 1, 0]], reference=[[0, 0], [0, 1]], vote="hard", ids=[7, 8, 9], seed=0))
"""
    assert python(code, interpreter, cwd=tmp_path) in ("[8]\n", "[9]\n")
    listed = subprocess.run([str(tmp_path / "empty/bin/versionspace"), "methods"], capture_output=True, check=True)
    assert b"gvd-batch" in listed.stdout


@pytest.mark.slow
def test_without_a_compiler_the_package_installs_and_returns_the_same(repository, tmp_path):
    """The kernels are optional: if the C compiler fails, the installation must succeed."""
    code = "import sys, versionspace as vs; from versionspace.space import kernels; print(kernels.COMPILED, {})"
    answer = "vs.query('gvd', 3, pool=[[0, 0, 1, 1], [0, 1, 0, 1]], reference=[[0, 0], [0, 1]], vote='hard', seed=0)"
    with_kernels = python(code.format(answer))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target",
         str(tmp_path / "pure"), str(repository)],
        check=True, capture_output=True, env={**os.environ, "CC": "false"},
    )  # fmt: skip
    assert not list((tmp_path / "pure").rglob("_kernels*.so"))
    without = python(
        f"import sys; sys.path.insert(0, {str(tmp_path / 'pure')!r}); " + code.format(answer), cwd=tmp_path
    )
    assert with_kernels.split()[0] == "True"
    assert without.split()[0] == "False"
    assert with_kernels.split()[1:] == without.split()[1:]
