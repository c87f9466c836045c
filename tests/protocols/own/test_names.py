"""A class becomes a protocol under the name by which it can be imported again."""

from typing import Any

import pytest
from msgspec import structs

import zabcheck
from tests.protocols.own.echo import Echo, Ping, Word
from zabcheck.mutants.catalogue import mutated
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.adapter import imported, protocol_of, register
from zabcheck.protocols.zab import ZAB

ECHO = f"{Echo.__module__}:Echo"


def test_the_name_of_a_class_says_where_it_is() -> None:
    found = imported(ECHO)
    assert found.name == ECHO
    assert found.summary == "Says and writes what it is asked to."
    assert found is imported(ECHO) is mutated(ECHO)


def test_a_report_shows_messages_and_variables() -> None:
    protocol = protocol_of(Echo)
    assert protocol.kinds == {Word: "Word", Ping: "Ping"}
    assert protocol.show(Word(["a", "b"])) == ("Word", "[a b]")
    state = Echo()
    state.id, state.leader, state.primary, state.history, state.heard = 1, 1, None, ("x", "y"), {2: ["z"]}
    assert protocol.describe(state) == {"": "leads", "history": ("x", "y"), "heard[2]": ("z",)}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raft", f"no protocol `raft`; expected one of: {', '.join(PROTOCOLS)}; or `module:Class`"),
        ("zap", "no protocol `zap`; did you mean `zab`?"),
        (
            "no_such_module:X",
            "protocol `no_such_module:X`: cannot import `no_such_module`: ModuleNotFoundError: No module",
        ),
        (
            "tests.protocols.own.echo:X",
            "protocol `tests.protocols.own.echo:X`: no `X` in module `tests.protocols.own.echo`",
        ),
        (
            "tests.protocols.own.echo:Echo.",
            "protocol `tests.protocols.own.echo:Echo.`: no `Echo.` in module `tests.protocols.own.echo`",
        ),
        (
            "tests.protocols.own.echo:Word",
            "protocol `tests.protocols.own.echo:Word`: expected a subclass of zabcheck.Process, found <class",
        ),
        (":X", "protocol `:X`: cannot import ``: ValueError: Empty module name"),
    ],
)
def test_a_name_of_nothing_is_refused_in_one_line(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]*\Z") as refused:
        imported(name)
    assert str(refused.value).startswith(said)


def test_a_protocol_as_a_table_is_taken_as_it_is() -> None:
    own = structs.replace(ZAB, name="mine")
    assert zabcheck.machine_for(own).search.protocol is own
    assert mutated("mine") is own
    with pytest.raises(ValueError, match="there is a protocol `zab` already"):
        register(structs.replace(ZAB, summary="mine"))


def of(**body: Any) -> type[zabcheck.Process]:
    return type("Mine", (zabcheck.Process,), body)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (of(durable="log", log=()), r"Mine.durable: expected a tuple, as in \(\"log\",\), found 'log'"),
        (of(durable=("log",)), "Mine.durable: no variable 'log' with a first value in the body of the class"),
        (of(durable=("leader",), leader=1), "Mine.durable: no variable 'leader'"),
        (of(messages=[Word]), "Mine.messages: expected a tuple"),
        (of(messages=(int,)), "Mine.messages: expected subclasses of zabcheck.Message, found <class 'int'>"),
        (of(messages=(Word,)), "Mine: no method `on_word` for its message Word, and no `on_message`"),
        (of(messages=(Word, Word), on_message=print), "Mine.messages: two have the same name: Word, Word"),
        *(
            (
                of(messages=(type(name, (zabcheck.Message,), {}),)),
                f"Mine.messages: {name} needs another name: its method would be `{method}`, which every process has",
            )
            for name, method in [
                ("Started", "on_started"),
                ("Request", "on_request"),
                ("TimedOut", "on_timed_out"),
                ("Message", "on_message"),
            ]
        ),
        (of(on_elect=print), "Mine.on_elect is never called; expected one of: on_started, on_elected, "),
        (of(__init__=print), "Mine.__init__ is never called: give variables their first values in the body"),
    ],
)
def test_a_class_with_a_mistake_in_it_is_refused(own: type[zabcheck.Process], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        zabcheck.machine_for(own)
