"""Makes `import invariants` give the modules of `zabcheck.invariants`, so that each module and class exists once.

A checkout has this folder on the path under both names. A wheel has `zabcheck.invariants` only, and this module not.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any


class _SameModule(MetaPathFinder, Loader):
    """Finds `invariants.x` as the module `zabcheck.invariants.x`."""

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self) if fullname.startswith("invariants.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"zabcheck.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # importing sets it to that of the other name


sys.meta_path.insert(0, _SameModule())
sys.modules["invariants"] = sys.modules["zabcheck.invariants"]
