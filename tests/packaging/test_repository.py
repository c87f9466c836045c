"""Rules for every file of the repository."""

import ast
import lzma
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOLDERS = ("zabcheck", "invariants", "tests", "benchmarks", "docs", "kits", ".ci", ".github")
FILES = [
    *(path for path in sorted(ROOT.iterdir()) if path.is_file()),
    *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()),
]
"""The files that are, or are meant to be, under version control."""

OF_ONE_MACHINE = (str(ROOT), "-".join(("index", "url")))


def test_no_file_is_bound_to_one_machine() -> None:
    found = []
    for path in FILES:
        if "__pycache__" not in path.parts and path != Path(__file__):
            data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
            found += [(str(path.relative_to(ROOT)), word) for word in OF_ONE_MACHINE if word.encode() in data]
    assert found == []


def test_every_path_in_contributing_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tops = {path.name for path in ROOT.iterdir()}
    named = [name for name in re.findall(r"`([\w./-]+)`", text) if name.partition("/")[0] in tops - {".venv", "build"}]
    assert len(named) > len(FOLDERS)
    patterns = [re.sub("NAME|MUTANT|PROPERTY", "*", name) for name in named]  # what the reader puts a name in for
    assert [pattern for pattern in patterns if not [*ROOT.glob(pattern)]] == []


def test_every_package_has_a_row_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = [path.parent for path in sorted(ROOT.glob("zabcheck/*/__init__.py")) if not path.parent.is_symlink()]
    assert len(packages) > 10
    assert [path.name for path in packages if f"| `zabcheck/{path.name}/" not in text] == []


def without_docstring(path: Path) -> Iterator[str]:
    """The public functions and classes of a module that do not say what they are, or the module itself.

    A class that is alone in its module is described by the module's docstring, and so is a property; a class that
    monitors a property, by that property.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    if text.strip() and not ast.get_docstring(tree):
        yield "module"
    definitions = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    public = [node for node in definitions if not node.name.startswith("_")]
    for node in public:
        alone = len(public) == 1 and isinstance(node, ast.ClassDef)
        if not alone and not _is_a_property(node) and not ast.get_docstring(node):
            yield node.name


def _is_a_property(node: ast.stmt) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    bases = [ast.unparse(base) for base in node.bases]
    return "Invariant" in bases or any(ast.unparse(each).startswith("monitors(") for each in node.decorator_list)


@pytest.mark.parametrize("package", ["invariants", "zabcheck"])
def test_every_public_name_has_a_docstring(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    assert [(str(path.relative_to(ROOT)), name) for path in paths for name in without_docstring(path)] == []


def test_a_docstring_begins_with_its_subject_or_a_verb() -> None:
    question = re.compile(r'""" ?(?:What|Those|Whether|Of|How)\b.*')
    sources = [path for path in FILES if path.suffix == ".py"]
    assert len(sources) > 1000
    found = [(path.name, each) for path in sources for each in question.findall(path.read_text(encoding="utf-8"))]
    assert found == []


def required() -> list[Requirement]:
    optional = [each for group in PROJECT["optional-dependencies"].values() for each in group]
    found = [Requirement(each) for each in (*PROJECT["dependencies"], *optional)]
    return [each for each in found if each.name != "zabcheck"]  # an extra may ask for another one


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines if line and not line.startswith("#")]
    assert all(pinned)
    return {canonicalize_name(match[1]): match[2] for match in pinned if match}


def test_the_pinned_versions_are_among_those_that_are_allowed() -> None:
    pinned = constraints()
    for requirement in required():
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_what_the_dependencies_need_in_turn_is_pinned_too() -> None:
    """The pinned versions are asked, as far as they are installed here."""
    pinned = constraints()
    installed = {canonicalize_name(each.name): each for each in distributions()}
    waiting = [canonicalize_name(requirement.name) for requirement in required()]
    needed = set(waiting)
    while waiting:
        name = waiting.pop()
        if name not in installed or installed[name].version != pinned.get(name):
            continue
        for each in map(Requirement, installed[name].requires or ()):
            required_here = each.marker is None or each.marker.evaluate({"extra": ""})
            if required_here and canonicalize_name(each.name) not in needed:
                needed.add(canonicalize_name(each.name))
                waiting.append(canonicalize_name(each.name))
    assert sorted(needed - set(pinned)) == []
