"""The style sheet of the space-time diagram and of the witness's graph, and its colours for light and for dark."""

from collections.abc import Mapping

STYLE = """
.lane { stroke: LINE; stroke-width: 1.5; } .lane.down { stroke-dasharray: 2 4; stroke: FAINT; }
.band { opacity: .22; } .e0 { fill: #2f7ed8; } .e1 { fill: #e08a1e; } .e2 { fill: #3a9d5d; } .e3 { fill: #b04fc4; }
.e4 { fill: #c9a400; } .e5 { fill: #1ba3a8; }
.epoch { fill: SOFT; } .number { font-size: 11px; fill: SOFT; text-anchor: end; }
.head { font-weight: 600; text-anchor: middle; fill: INK; }
.flight { stroke: SOFT; stroke-width: 1.2; fill: none; } .tip { fill: SOFT; }
.deciding .flight { stroke: BAD; stroke-width: 3.5; } .deciding .tip { fill: BAD; }
.verdict { fill: BAD; opacity: .14; } .halo { fill: BAD; opacity: .3; }
.flight.lost, .flight.open { stroke-dasharray: 4 3; } .x { stroke: BAD; stroke-width: 2; fill: none; }
.link { stroke: BAD; stroke-width: 2; stroke-dasharray: 1 4; stroke-linecap: round; } .link.mend { stroke: GOOD; }
.dot { fill: INK; } .sign.txn { fill: GOOD; } .sign.ready { fill: SOFT; }
.sign.up { fill: PAPER; stroke: SOFT; stroke-width: 2; }
.sign.bad { fill: none; stroke: BAD; stroke-width: 2.5; }
.label, .tag, .epoch, .name { font-size: 11px; stroke: PAPER; stroke-width: 3px; paint-order: stroke; }
.label { fill: INK; } .name { fill: SOFT; } .tag, .label.effect { font-weight: 700; fill: BAD; }
.ring { fill: none; stroke: BAD; stroke-width: 2; } .hit { fill: none; pointer-events: all; }
.edge { stroke: SOFT; stroke-width: 1.4; fill: none; } .edge.marked { stroke: BAD; stroke-width: 2.5; }
.edge.missing { stroke-dasharray: 6 4; } .tip.marked { fill: BAD; }
.node { fill: INK; } .node.never { fill: PAPER; stroke: BAD; stroke-width: 2; stroke-dasharray: 3 2; }
.say { fill: INK; } .say.never { fill: BAD; }
"""
"""The style sheet; words in capitals stand for colours."""
THREADS = """
.held { stroke: WARNING; stroke-width: 2; fill: none; }
.thread { font-size: 11px; font-weight: 700; fill: WARNING; stroke: PAPER; stroke-width: 3px; paint-order: stroke; }
"""
"""Further styles of a diagram in which threads are held."""
LIGHT = {
    "INK": "#1b1f24",
    "SOFT": "#57606a",
    "FAINT": "#8a929b",
    "LINE": "#8a929b",
    "PAPER": "#ffffff",
    "GOOD": "#116329",
    "BAD": "#b3261e",
    "WARNING": "#855700",
}
DARK = {
    "INK": "#e4e7ea",
    "SOFT": "#a4adb6",
    "FAINT": "#7b848d",
    "LINE": "#7b848d",
    "PAPER": "#14171a",
    "GOOD": "#6fce8b",
    "BAD": "#ff8a80",
    "WARNING": "#e3b341",
}


def style(colours: Mapping[str, str], more: str = "") -> str:
    """Return `STYLE`, and `more` of the same form, in the given colours."""
    text = STYLE + more
    for word, colour in colours.items():
        text = text.replace(f" {word};", f" {colour};")
    return text
