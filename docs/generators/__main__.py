"""Writes the pages that are named, or all that are quick; says which of them changed.

python -m docs.generators [PAGE…]
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from docs.generators import (
    any_language,
    campaigns,
    channel,
    clients,
    commands,
    counterexamples,
    evaluation,
    explore,
    gallery,
    gate,
    lessons,
    mutants,
    own_protocol,
    paxos,
    play,
    proof,
    properties,
    python,
    readme,
    run_output,
    scenarios,
    schemas,
    sources,
    start,
    zookeeper,
    zookeeper_catalogue,
    zookeeper_conformance,
    zookeeper_logs,
    zookeeper_points,
    zookeeper_scale,
    zookeeper_versions,
)
from docs.generators.output import ROOT

Made = Callable[[], dict[Path, str]]
QUICK: dict[str, Made] = {
    "any-language": any_language.made,
    "channel": channel.made,
    "clients": clients.made,
    "commands": commands.made,
    "counterexamples": counterexamples.made,
    "explore": explore.made,
    "gallery": gallery.made,
    "gate": gate.made,
    "lessons": lessons.made,
    "mutants": mutants.made,
    "own-protocol": own_protocol.made,
    "paxos": paxos.made,
    "play": play.made,
    "proof": proof.made,
    "properties": properties.made,
    "python": python.made,
    "readme": readme.made,
    "run-output": run_output.made,
    "scenarios": scenarios.made,
    "schemas": schemas.made,
    "sources": sources.made,
    "start": start.made,
    "zookeeper": zookeeper.made,
    "zookeeper-logs": zookeeper_logs.made,
    "zookeeper-catalogue": zookeeper_catalogue.made,
    "zookeeper-points": zookeeper_points.made,
    "zookeeper-scale": zookeeper_scale.made,
    "zookeeper-conformance": zookeeper_conformance.made,
    "zookeeper-versions": zookeeper_versions.made,
}
"""Some 30 CPU seconds together."""
SLOW: dict[str, Made] = {
    "campaigns": campaigns.made,
    "evaluation": evaluation.made,
}
"""Each takes about a minute."""


def main(names: Sequence[str]) -> int:
    """Write the pages and return the exit code."""
    pages = {**QUICK, **SLOW}
    unknown = [name for name in names if name not in pages]
    if unknown:
        print(f"no page {', '.join(unknown)}; expected: {', '.join(pages)}", file=sys.stderr)
        return 2
    for name in names or QUICK:
        write(pages[name]())
    remove(set(gallery.FOLDER.iterdir()) - set(gallery.made()))
    return 0


def write(files: dict[Path, str]) -> None:
    """Write the files whose content is another one than before."""
    for path, content in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}", flush=True)


def remove(files: set[Path]) -> None:
    """Remove pages of bugs that are no longer in the catalogue."""
    for path in sorted(files):
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
