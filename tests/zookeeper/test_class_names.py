"""One name, one meaning: no class name stands twice in what runs and judges a real ensemble.

The model is another world, in which the same word may name the same thing; so is a history, which knows no server, and
an operator's plan, which knows no run.
"""

import ast
from collections import defaultdict
from pathlib import Path

import zabcheck.zookeeper


def test_no_class_name_stands_twice() -> None:
    folder = Path(zabcheck.zookeeper.__path__[0])
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] in ("model", "conformance", "clients", "scaling"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(folder).as_posix())
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
