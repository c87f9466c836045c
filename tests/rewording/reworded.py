"""Imports zabcheck with every message text changed.

`reword` changes the letters of each string that is prose: of two words or more, or a part of an f-string that is. Names
stay as they are (those of properties, findings and the like), and so do strings that code only compares with, looks for
or cuts off: where it does so with a message text, that is no longer found, as after a change of the wording.
"""

import ast
import re
import sys
from codecs import encode
from collections.abc import Collection
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

PACKAGES = ("invariants", "zabcheck")
CODE = ("zabcheck.proof.compiled",)
"""The modules whose texts are programs."""
_PROSE = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
_LOOKS = ("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "index", "find")
"""The methods by which code looks into a text."""
_OF_OTHERS = ("_said", "server_says")
"""The functions that look for a text of ZooKeeper's own."""
_TEXTS_OF_OTHERS = ("EXPECTED", "NEVER_EXPECTED", "_NEEDED", "_WITHIN_A_RECORD")
"""The tables of texts that others write: ZooKeeper and Java."""


def is_prose(text: str) -> bool:
    """Return True for a message or a part of one: two words stand side by side."""
    return _PROSE.search(text) is not None


def literal_names(source: str) -> set[str]:
    """Return the strings that a module's types allow as values: these are names, no messages."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            found.update(each.value for each in ast.walk(node.slice) if isinstance(each, ast.Constant))
    return {each for each in found if isinstance(each, str)}


class Reword(ast.NodeTransformer):
    """Changes the message texts of a module. `texts` counts them."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names
        self.texts = 0

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Change a text that is prose."""
        if not isinstance(node.value, str) or not is_prose(node.value) or node.value in self.names:
            return node
        return self._changed(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Change all parts of an f-string whose parts together are prose."""
        prose = is_prose(" x ".join(each.value for each in node.values if isinstance(each, ast.Constant)))
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                each.value = self.visit(each.value)
        if prose:
            node.values = [self._changed(each) if isinstance(each, ast.Constant) else each for each in node.values]
        return node

    def _changed(self, node: ast.Constant) -> ast.Constant:
        self.texts += 1
        return ast.copy_location(ast.Constant(_other_letters(node.value)), node)

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        """Leave docstrings as they are."""
        return node if isinstance(node.value, ast.Constant) else self._inside(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Leave the texts that are compared as they are."""
        sides = [node.left, *node.comparators]
        node.left, *node.comparators = [each if _is_text(each) else self.visit(each) for each in sides]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave the texts that are looked for as they are."""
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        of_re = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "re"
        if name in _LOOKS or name in _OF_OTHERS or of_re:
            if not (isinstance(function, ast.Attribute) and _is_text(function.value)):  # "epoch txn".split() has names
                node.func = self.visit(function)
            node.args = [
                each if _is_text(each) or (of_re and isinstance(each, ast.JoinedStr)) else self.visit(each)
                for each in node.args
            ]
            return node
        return self._inside(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Leave tables of texts of others as they are."""
        names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        return node if any(each in _TEXTS_OF_OTHERS for each in names) else self._inside(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Leave types as they are."""
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """Leave keys as they are."""
        node.values = [self.visit(each) for each in node.values]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Leave keys and types as they are."""
        node.value = self.visit(node.value)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Leave patterns as they are."""
        node.guard = None if node.guard is None else self.visit(node.guard)
        node.body = [self.visit(each) for each in node.body]
        return node

    def _inside(self, node: Any) -> Any:
        return super().generic_visit(node)


def _other_letters(text: str) -> str:
    """Change the letters, but for the names of fields that a format puts in: {0.txn}."""
    return "".join(each if each.startswith("{") else encode(each, "rot13") for each in re.split(r"(\{.*?\})", text))


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(map(_is_text, node.elts))
    return isinstance(node, ast.Constant)


def reword(source: str, names: Collection[str]) -> tuple[ast.Module, int]:
    """Return a module with its message texts changed, and how many there are."""
    rewording = Reword(names)
    tree = rewording.visit(ast.parse(source))
    return ast.fix_missing_locations(tree), rewording.texts


class _Loader(SourceFileLoader):
    """Loads a module with other texts."""

    names: Collection[str] = ()

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed module; nothing is read from a cache, or written to one."""
        path = self.get_filename(fullname)
        return compile(reword(Path(path).read_text(encoding="utf-8"), self.names)[0], path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find the modules of our packages."""
        if fullname.partition(".")[0] not in PACKAGES or fullname in CODE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            loader = _Loader(spec.loader.name, spec.loader.path)
            loader.names = self.names
            spec.loader = loader
        return spec


def install(names: Collection[str]) -> None:
    """Have all modules of our packages imported with other texts from here on. None may be imported yet."""
    assert not any(each.partition(".")[0] in PACKAGES for each in sys.modules), "too late"
    sys.meta_path.insert(0, _Finder(names))
