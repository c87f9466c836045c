"""In a checkout the properties can be imported under two names, and exist once."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import invariants
import zabcheck.invariants

ROOT = Path(__file__).parents[2]
MODULES = [
    path.stem for path in sorted((ROOT / "invariants").glob("*.py")) if path.stem not in ("__init__", "checkout")
]


@pytest.mark.parametrize("name", [*MODULES, "columns", "columns.rows"])
def test_a_module_is_the_same_under_both_names(name: str) -> None:
    module = importlib.import_module(f"zabcheck.invariants.{name}")
    assert importlib.import_module(f"invariants.{name}") is module
    assert module.__name__ == f"zabcheck.invariants.{name}" == module.__spec__.name


def test_the_package_is_the_same_under_both_names() -> None:
    assert invariants is zabcheck.invariants is zabcheck.__getattr__("invariants")


@pytest.mark.parametrize("names", [("zabcheck.invariants", "invariants"), ("invariants", "zabcheck.invariants")])
def test_either_name_can_be_imported_first(names: tuple[str, str]) -> None:
    first, second = names
    code = f"from {first}.events import Deliver as a; from {second}.events import Deliver as b; print(a is b)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_zabcheck_alone_does_not_claim_the_other_name() -> None:
    code = "import sys, zabcheck.invariants; print('invariants' in sys.modules, [*map(repr, sys.meta_path)])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False ")
    assert "checkout" not in done.stdout
