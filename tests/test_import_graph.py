"""No import cycle between modules: imports inside functions count, imports for type checkers alone do not."""

import ast
from pathlib import Path

import pytest

import versionspace

ROOT = Path(versionspace.__file__).parent


def modules(root: Path) -> dict[str, ast.Module]:
    """Return the syntax tree of every module by its dotted name."""
    trees = {}
    for path in root.rglob("*.py"):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        trees[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return trees


def imported_names(tree: ast.AST, *, type_checking: bool) -> list[tuple[str, str | None]]:
    """Return (module, name) for each imported name; name is None for ``import module``."""
    found: list[tuple[str, str | None]] = []
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if not type_checking:
                todo += node.orelse
                continue
            case ast.Import():
                found += [(alias.name, None) for alias in node.names]
            case ast.ImportFrom():
                assert node.module, "relative imports are not resolved here"
                assert not node.level, "relative imports are not resolved here"
                found += [(node.module, alias.name) for alias in node.names]
        todo += ast.iter_child_nodes(node)
    return found


def dependencies(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return the modules that each module imports. A name that a package re-exports counts as its home module."""
    homes = {
        (package, name): module
        for package, tree in trees.items()
        for module, name in imported_names(tree, type_checking=True)
        if module.startswith(f"{package}.")
    }
    graph: dict[str, set[str]] = {}
    for importer, tree in trees.items():
        graph[importer] = set()
        for module, name in imported_names(tree, type_checking=False):
            candidates = {module, f"{module}.{name}", homes.get((module, name), "")}
            if (ROOT.parent / module.replace(".", "/") / f"{name}.pyi").exists():
                continue  # compiled: it imports nothing of ours
            graph[importer] |= {one for one in candidates if one in trees and one != importer}
            if f"{module}.{name}" in trees:
                graph[importer].discard(module)  # a submodule: its package is no dependency
    return graph


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of modules that reach each other."""
    reachable = {module: reach(graph, module) for module in graph}
    groups = {frozenset(b for b in reachable[a] if a in reachable[b]) for a in graph}
    return [set(group) for group in groups if group]


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        for module in graph[todo.pop()] - found:
            found.add(module)
            todo.append(module)
    return found


def test_no_module_imports_itself_by_way_of_others():
    graph = dependencies(modules(ROOT))
    assert len(graph) > 100
    assert "versionspace.campaign.jobs" in graph["versionspace.campaign.grid"]
    assert [sorted(group) for group in cycles(graph)] == []


@pytest.mark.parametrize(
    ("a", "b", "cyclic"),
    [
        ("import package.b", "", False),
        ("import package.b", "import package.a", True),
        ("from package import b", "def f():\n    from package.a import x", True),
        ("from package import b", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import package.a", False),
        ("from package.b import x", "from package import A", True),
    ],
)
def test_cycles_are_found(a, b, cyclic, tmp_path, monkeypatch):
    (tmp_path / "package").mkdir()
    front = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.a import A\n"
    for name, text in (("__init__", front), ("a", a), ("b", b)):
        (tmp_path / "package" / f"{name}.py").write_text(text)
    found = cycles(dependencies(modules(tmp_path / "package")))
    assert found == ([{"package.a", "package.b"}] if cyclic else [])


def test_the_jobs_of_a_grid_know_nothing_of_what_runs_them():
    graph = dependencies(modules(ROOT))
    inside = {module.removeprefix("versionspace.campaign.") for module in reach(graph, "versionspace.campaign.jobs")}
    assert not inside & {"grid", "local_executor", "progress", "worker", "campaign", "round"}


def test_packages_are_entered_by_their_front_doors():
    """A module of one package imports names from another package, never from a module inside it."""
    trees = modules(ROOT)
    packages = {name for name in trees if (ROOT.parent / name.replace(".", "/")).is_dir() and name.count(".") == 1}
    found = {
        f"{importer} imports {module}"
        for importer, tree in trees.items()
        for module, _ in imported_names(tree, type_checking=True)
        for package in packages
        if module.startswith(f"{package}.") and not f"{importer}.".startswith(f"{package}.")
    }
    assert found == set()
