"""Searches for a run that breaks a property. The package itself can be called: `zabcheck.search("zab")`."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """The package as a function: once a module of it is imported, the name `zabcheck.search` is the package's."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("zabcheck.counterexamples").search(*arguments, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(import_module("zabcheck.counterexamples").search)


sys.modules[__name__].__class__ = _Callable
