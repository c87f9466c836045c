"""A counterexample to induction, laid out: the state in lanes, the changes of the step, and the witness.

The relations of the proof become what an engineer looks at: the variables of each process, what it has told others, and
what became of each epoch. No fact of the state is left out but those that are so in every state.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from msgspec import Struct

from zabcheck.proof.counterexample import Counterexample, named, say, show
from zabcheck.proof.finite import Fact, Facts, Thing
from zabcheck.proof.implemented.servers import Servers
from zabcheck.proof.liveness.iteration import Iteration
from zabcheck.proof.reconfiguration.relations import Configured
from zabcheck.proof.relations import State
from zabcheck.proof.steps import Step

Cell = Callable[..., tuple[Thing, str]]
CELLS: dict[str, Cell] = {
    "promised": lambda n, e, k: (n, f"e{e} to {k}"),
    "adopted": lambda n, e: (n, f"e{e}"),
    "accepted": lambda n, _, t: (n, show(t)),
    "delivered": lambda n, t: (n, show(t)),
    "left": lambda n, e: (n, f"e{e}"),
    "led": lambda e, k: (e, k),
    "established": lambda e, k: (e, k),
    "opened": lambda e: (e, "chosen"),
    "initial": lambda e, t: (e, show(t)),
    "proposed": lambda e, t: (e, show(t)),
    "committed": lambda e, t: (e, show(t)),
    "knew": lambda u, t: (u[0], f"{show(t)} before {show(u)}"),
}
"""The lane in which a fact of each relation stands, and its text there."""
CELLS_WITH_CONFIGURATIONS: dict[str, Cell] = {
    **CELLS,
    "base": lambda e, c: (e, show(c)),
    "asked": lambda e, k, c: (e, f"{k} in {show(c)}"),
    "active": lambda n, c: (n, show(c)),
}
"""The same with configurations that change."""
CELLS_OF_AN_ITERATION: dict[str, Cell] = {
    name: (lambda: ("leader", "true"))
    if not sorts
    else (lambda lane: (lane, "true"))
    if len(sorts) == 1
    else (lambda lane, t: (lane, show(t)))
    for name, sorts in Iteration.relations.items()
}
"""The same for the relations of an iteration."""
ROWS_OF_AN_ITERATION = {
    "connection": {
        "never closed": "lasting",
        "left behind": "abandoned",
        "f.p": "promised",
        "CEPOCH sent": "opened",
        "CEPOCH got": "asked",
        "… before e'": "in_time",
        "NEWEPOCH sent": "offered",
        "ACK-E sent": "answered",
        "ACK-E got": "discovered",
        "NEWLEADER sent": "sent_history",
        "… with": "carried",
        "ACK-LD sent": "adopted",
        "ACK-LD got": "synced",
        "COMMIT-LD sent": "released",
        "in phase 3": "joined",
        "PROPOSE sent": "sent",
        "accepted (ACK)": "accepted",
        "COMMIT covers": "told",
    },
    "process": {
        "leader": "leads",
        "CEPOCH counts": "counted",
        "came back": "returned",
        "provides": "has_history",
        "ACK-E counts": "provided",
        "ACK-LD counts": "acknowledged",
        "ACK got": "acked",
        "delivered": "delivered",
    },
    "epoch": {"is e'": "new"},
    "transaction": {"in I_e'": "initial", "broadcast": "proposed", "committed": "committed"},
    "the leader": {"has e'": "epoch_chosen", "has I_e'": "history_chosen", "established": "established"},
}
"""The tables for an iteration, each with its rows, and the relation of each row."""
CELLS_OF_SERVERS: dict[str, Cell] = {
    **{name: cell for name, cell in CELLS.items() if name not in ("accepted", "knew")},
    **dict.fromkeys(("reached", "current"), lambda n, e: (n, f"e{e}")),
    **dict.fromkeys(("log", "forced", "tree"), lambda n, t: (n, show(t))),
    **dict.fromkeys(("joined", "unsaved", "serving"), lambda n: (n, "true")),
    **dict.fromkeys(("lacked", "carried"), lambda e, t: (e, show(t))),
    "acked": lambda n, e, t: (n, f"{show(t)} in e{e}"),
    "reported": lambda n, e, t: (n, f"{show(t)} for e{e}"),
}
"""The same for the relations of servers."""
ROWS_OF_SERVERS = {
    "process": {
        "log, snapshot": "log",
        "… forced": "forced",
        "memory": "tree",
        "joined": "joined",
        "no snapshot yet": "unsaved",
        "serves": "serving",
        "delivered": "delivered",
        "promised (ACKEPOCH)": "promised",
        "… reported": "reported",
        "NEWLEADER's ACK": "adopted",
        "ACK counts": "acked",
    },
    "epoch": {
        "leader": "led",
        "established": "established",
        "initial history": "initial",
        "proposed": "proposed",
        "committed": "committed",
        "later one has": "carried",
        "later one lacks": "lacked",
    },
}
"""The tables for servers, each with its rows, and the relation of each row; a process has its epochs above."""
_CELLS = {
    Servers: CELLS_OF_SERVERS,
    Iteration: CELLS_OF_AN_ITERATION,
    State: CELLS,
    Configured: CELLS_WITH_CONFIGURATIONS,
}
ADDED, REMOVED, MISSING, MOVES = "+", "−", "not ", "▶ "
"""The signs of what the step adds and removes, what is missing for the claim to be true, and who takes the step."""
USUAL = {("opened", (0,))}
"""Facts of every state, besides that every process was in epoch 0."""


class Item(Struct, frozen=True):
    """One thing in a cell of the drawing."""

    text: str
    sign: str = ""
    was: str = ""
    """The value before the step, if it was another one."""
    labels: tuple[str, ...] = ()
    """The marks of the witness."""

    @property
    def is_changed(self) -> bool:
        """Return True if the step causes this."""
        return self.sign in (ADDED, REMOVED) or bool(self.was)


class Row(Struct, frozen=True):
    """A line across the lanes: a cell for each of them, with any number of items."""

    name: str
    cells: tuple[tuple[Item, ...], ...]


class Lanes(Struct, frozen=True):
    """A table whose columns are the processes, or the epochs."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]


class WitnessLine(Struct, frozen=True):
    """A line of the witness: a fact, or some that are all missing, in words, with their mark."""

    label: str
    words: str
    facts: tuple[Fact, ...]
    is_so: bool


class Drawing(Struct, frozen=True):
    """All that is drawn of a counterexample to induction."""

    title: str
    summary: str
    particulars: tuple[tuple[str, str, str], ...]
    """The step and the broken claim: for each its kind, its name with its arguments, and its text."""
    heading: str
    """The contents of the lanes."""
    legend: tuple[str, ...]
    """The meanings of the signs."""
    lanes: tuple[Lanes, ...]
    witness: tuple[WitnessLine, ...]


def drawing(found: Counterexample) -> Drawing:
    """Return what is to be drawn of a counterexample."""
    witness = tuple(_witness(found))
    state = _State(found, witness)
    if found.about is Iteration:
        lanes = tuple(_tables_of_an_iteration(found, state))
    elif found.about is Servers:
        lanes = tuple(_tables_of_servers(found, state))
    else:
        lanes = tuple(each for each in (_processes(found, state), _epochs(found, state, witness)) if each.heads)
    return Drawing(
        title=f"{found.obligation.name}: refused",
        summary=_summary(found),
        particulars=tuple(_particulars(found)),
        heading="The state, and what the step changes" if found.obligation.step else "The state",
        legend=tuple(_legend([item for each in lanes for row in each.rows for cell in row.cells for item in cell])),
        lanes=lanes,
        witness=witness,
    )


# What is broken, in words.


def _summary(found: Counterexample) -> str:
    step = found.obligation.step
    if step is not None and found.obligation.kind == "lemma":
        return f"This state satisfies the invariant, and {step.number} is possible in it; “{found.claim}” is false."
    if step is not None:
        return f"This state satisfies the invariant; after {step.number}, “{found.claim}” is false."
    if found.obligation.kind == "start":
        return f"At the start, “{found.claim}” is false."
    return f"This state satisfies the conjuncts, but “{found.claim}” is false in it."


def _particulars(found: Counterexample) -> Iterator[tuple[str, str, str]]:
    step, claim = found.obligation.step, found.obligation.claim
    if step is not None:
        yield "step", f"{step.number} {step.name}, with {named(found.things)}", " ".join(step.text.split())
    kind = found.obligation.kind if found.obligation.kind in ("property", "lemma") else "conjunct"
    yield kind, f"{claim.name}, false for {named(found.broken)}" if found.broken else claim.name, claim.text


def _legend(items: Sequence[Item]) -> Iterator[str]:
    """Yield the meanings of the signs that occur."""
    signs = {item.sign for item in items}
    if MOVES in signs:
        yield "▶ takes the step"
    if ADDED in signs:
        yield "+ added"
    if REMOVED in signs:
        yield "− removed"
    if any(item.was for item in items):
        yield "→ changed"
    if MISSING in signs:
        yield "not …: missing"


def _witness(found: Counterexample) -> Iterator[WitnessLine]:
    """Yield the witness with marks W1, W2, …; what is so in no epoch at all is one line."""
    groups: dict[tuple[bool, str, tuple[Thing, ...]], list[Fact]] = {}
    for fact, is_so in found.witness:
        beside_epochs = tuple("" if isinstance(each, int) else each for each in fact[1])
        groups.setdefault((is_so, fact[0], fact[1] if is_so else beside_epochs), []).append(fact)
    lines: list[tuple[str, tuple[Fact, ...], bool]] = []
    for (is_so, *_), facts in groups.items():
        words = [say(found.about, fact, is_so) for fact in facts]
        if len(facts) == len(found.universe.epochs):
            lines.append((words[0].replace(show(found.universe.epochs[0]), "any epoch"), tuple(facts), is_so))
        else:
            lines += [(said, (fact,), is_so) for said, fact in zip(words, facts, strict=True)]
    yield from (WitnessLine(f"W{number}", *line) for number, line in enumerate(lines, 1))


# The state, in lanes.


class _State:
    """The state before and after the step, and what the witness says of it."""

    def __init__(self, found: Counterexample, witness: Sequence[WitnessLine]) -> None:
        self.before: Facts = found.before
        self.after: Facts = found.after
        self.labels = {fact: each.label for each in witness for fact in each.facts}
        self.cells = _CELLS[found.about]
        self.known = sorted(
            {*self.before, *self.after, *self.labels}, key=lambda fact: (fact[0], [show(each) for each in fact[1]])
        )

    def items(self, relation: str, lane: Thing, epoch: Thing | None = None) -> tuple[Item, ...]:
        """Return the facts of a relation that stand in a lane, of one epoch if it is given."""
        found = []
        for fact in self.known:
            if fact[0] != relation or (epoch is not None and fact[1][1] != epoch):
                continue
            where, text = self.cells[relation](*fact[1])
            if where == lane:
                was, now = fact in self.before, fact in self.after
                sign = ("" if was else ADDED) if now else REMOVED if was else MISSING
                found.append(Item(text, sign, labels=self._marks(fact)))
        return tuple(found)

    def value(self, of: Callable[[Facts, str], str], node: str, relation: str = "") -> tuple[Item, ...]:
        """Return a variable of a process, with the marks of the facts of a relation that say what its value is."""
        was, now = of(self.before, node), of(self.after, node)
        facts = [fact for fact in self.labels if fact[0] == relation and fact[1][0] == node]
        return (Item(now, was="" if was == now else was, labels=tuple(dict.fromkeys(self.labels[f] for f in facts))),)

    def initial(self, epoch: int) -> tuple[Item, ...]:
        """Return the initial history of an epoch: none, an empty one, or its transactions."""
        items, fact = self.items("initial", epoch), ("opened", (epoch,))
        marks = self._marks(fact)
        if any(item.sign != MISSING for item in items):
            return (Item("chosen", labels=marks), *items) if marks else items
        now, was = ("empty" if fact in facts else "none" for facts in (self.after, self.before))
        return (Item(now, was="" if was == now else was, labels=marks), *items)

    def _marks(self, fact: Fact) -> tuple[str, ...]:
        return (self.labels[fact],) if fact in self.labels else ()


def _processes(found: Counterexample, state: _State) -> Lanes:
    """Draw a lane for each process: its variables, and what it has told others."""
    nodes, step = found.universe.nodes, found.obligation.step
    rows: list[Row] = []
    if step is not None:
        rows.append(_moves(nodes, step, found.things["n" if "n" in found.things else "l"]))
    rows += [
        _row("f.p", nodes, lambda n: state.value(_promised_epoch, n, "left")),
        _row("f.a", nodes, lambda n: state.value(partial(_latest, "adopted"), n)),
        _row("history", nodes, lambda n: state.value(_history, n)),
        _row("delivered", nodes, lambda n: state.items("delivered", n) or (Item("nothing"),)),
    ]
    if found.about is Configured:
        rows.append(_row("active", nodes, lambda n: state.items("active", n)))
    told = [_row("promised (ACK-E)", nodes, lambda n: state.items("promised", n))]
    told += [_row("adopted (ACK-LD)", nodes, lambda n: _but_epoch_0(state.items("adopted", n)))]
    for epoch in found.universe.epochs:
        told.append(_row(f"accepted in e{epoch} (ACK)", nodes, lambda n, e=epoch: state.items("accepted", n, e)))
    told.append(_row("left only", nodes, lambda n: state.items("left", n) if _has_gaps(state.after, n) else ()))
    return Lanes("process", nodes, (*rows, *filter(_is_needed, told)))


def _epochs(found: Counterexample, state: _State, witness: Sequence[WitnessLine]) -> Lanes:
    """Draw a lane for each epoch in which something happened, or should have: its leader and its transactions."""
    facts = [*state.after, *(each.facts[0] for each in witness if len(each.facts) == 1)]
    used = {state.cells[name](*things)[0] for name, things in facts if (name, things) not in USUAL}
    epochs = [each for each in found.universe.epochs if each in used]
    rows = [
        _row("leader", epochs, lambda e: state.items("led", e)),
        _row("asked for", epochs, lambda e: state.items("asked", e)),
        _row("began in", epochs, lambda e: state.items("base", e)),
        _row("established", epochs, lambda e: state.items("established", e)),
        _row("initial history", epochs, state.initial),
        _row("broadcast", epochs, lambda e: state.items("proposed", e)),
        _row("primary delivered", epochs, lambda e: state.items("knew", e)),
        _row("committed", epochs, lambda e: state.items("committed", e)),
    ]
    return Lanes("epoch", tuple(f"{each}" for each in epochs), tuple(filter(_is_needed, rows)))


def _tables_of_an_iteration(found: Counterexample, state: _State) -> Iterator[Lanes]:
    """Yield tables of the connections, the processes, the transactions and the leader, without what is empty."""
    universe, step = found.universe, found.obligation.step
    things: tuple[Sequence[Thing], ...] = (
        universe.connections,
        universe.nodes,
        universe.epochs,
        universe.transactions,
        ("leader",),
    )
    for (title, rows), lanes in zip(ROWS_OF_AN_ITERATION.items(), things, strict=True):
        used = [lane for lane in lanes if any(state.items(relation, lane) for relation in rows.values())]
        drawn = [_row(name, used, lambda lane, r=relation: state.items(r, lane)) for name, relation in rows.items()]
        if step is not None and title == "connection" and found.things.get("c") in used:
            drawn.insert(0, _moves(used, step, found.things["c"]))
        if used:
            yield Lanes(title, tuple(map(show, used)), tuple(filter(_is_needed, drawn)))


def _tables_of_servers(found: Counterexample, state: _State) -> Iterator[Lanes]:
    """Yield tables of the servers, and of the epochs in which something happened."""
    universe, step = found.universe, found.obligation.step
    epochs = [each for each in universe.epochs if any(state.items(r, each) for r in ROWS_OF_SERVERS["epoch"].values())]
    columns: tuple[Sequence[Thing], Sequence[Thing]] = (universe.nodes, [each for each in epochs if each])
    for (title, rows), lanes in zip(ROWS_OF_SERVERS.items(), columns, strict=True):
        drawn = [_row(name, lanes, lambda lane, r=relation: state.items(r, lane)) for name, relation in rows.items()]
        if title == "epoch":
            drawn = [
                _row(each.name, lanes, state.initial) if each.name == "initial history" else _if_later(each)
                for each in drawn
            ]
        else:
            drawn = [
                _row("acceptedEpoch", lanes, lambda n: state.value(partial(_latest, "reached"), n, "reached")),
                _row("currentEpoch", lanes, lambda n: state.value(partial(_latest, "current"), n, "current")),
                *(each if each.name != "NEWLEADER's ACK" else _without_epoch_0(each) for each in drawn),
            ]
            if step is not None:
                drawn.insert(0, _moves(lanes, step, found.things["n" if "n" in found.things else "l"]))
        if lanes:
            yield Lanes(title, tuple(map(show, lanes)), tuple(filter(_is_needed, drawn)))


def _without_epoch_0(row: Row) -> Row:
    return Row(row.name, tuple(map(_but_epoch_0, row.cells)))


def _if_later(row: Row) -> Row:
    """Return a row; of what a later epoch has or lacks, which is seen there, only what the witness names."""
    if not row.name.startswith("later"):
        return row
    return Row(row.name, tuple(tuple(item for item in cell if item.labels) for cell in row.cells))


def _moves(lanes: Sequence[Thing], step: Step, mover: Thing) -> Row:
    """Draw in which lane the step is taken."""
    return _row("the step", lanes, lambda lane: (Item(f"{step.number} {step.name}", MOVES),) if lane == mover else ())


def _row(name: str, lanes: Sequence[Thing], cell: Callable[..., tuple[Item, ...]]) -> Row:
    return Row(name, tuple(cell(lane) for lane in lanes))


def _is_needed(row: Row) -> bool:
    return any(row.cells)


def _but_epoch_0(items: Collection[Item]) -> tuple[Item, ...]:
    """Return items without what is so in every state."""
    return tuple(item for item in items if item != Item("e0"))


# The variables of a process.


def _promised_epoch(facts: Facts, node: str) -> str:
    """Return f.p, as its disk has it: one more than the last epoch that the process left."""
    least = max(_left(facts, node), default=-1) + 1
    is_known = not least or any(name == "promised" and things[:2] == (node, least) for name, things in facts)
    return f"{least}" if is_known else f"≥ {least}"


def _left(facts: Facts, node: str) -> set[int]:
    left = [things[1] for name, things in facts if name == "left" and things[0] == node]
    return {each for each in left if isinstance(each, int)}


def _has_gaps(facts: Facts, node: str) -> bool:
    """Return True if a process left an epoch and not all before it, which the invariant does not exclude."""
    left = _left(facts, node)
    return left != set(range(len(left)))


def _latest(relation: str, facts: Facts, node: str) -> str:
    """Return the latest epoch of which a relation is true at a process, as text."""
    epochs = [things[1] for name, things in facts if name == relation and things[0] == node]
    return f"{max((each for each in epochs if isinstance(each, int)), default=0)}"


def _history(facts: Facts, node: str) -> str:
    """Return the history: what the process accepted in f.a."""
    now = (node, int(_latest("adopted", facts, node)))
    accepted = [things[2] for name, things in facts if name == "accepted" and things[:2] == now]
    return " ".join(show(each) for each in sorted(accepted, key=show)) or "empty"
