"""The commands that a verdict names as the next step: made here alone, from the command line that ran.

Each can be called as it stands. It has the options of the command that ran as far as they still matter, so it asks
about the same protocol, the same known bug and the same properties.
"""

from collections.abc import Collection, Mapping, Sequence
from shlex import join
from typing import Any, NamedTuple

from zabcheck.counterexample.story import Story
from zabcheck.text.nodes import command_of, is_class

SOURCE = ("protocol", "exec")
"""The options without which a file that names code of its user's is not read."""

Value = str | int | float | bool | Sequence[object] | None


class CommandLine(NamedTuple):
    """A command line: the words of the command, its arguments, and its options by name, without hyphens before it."""

    words: tuple[str, ...] = ("zabcheck",)
    arguments: tuple[str, ...] = ()
    options: Mapping[str, Value] = {}

    def text(self) -> str:
        """Return it as it is typed into a shell."""
        words = [*self.words, *self.arguments]
        for name, value in self.options.items():
            if isinstance(value, bool):
                words.append(f"--{name}" if value else f"--no-{name}")
            elif value is not None:
                several = [value] if isinstance(value, str | int | float) else value
                words += [word for each in several for word in (f"--{name}", str(each))]
        return join(words)


_ran = CommandLine()


def remember(path: str, parameters: Collection[Any], values: Mapping[str, Any]) -> None:
    """Note the command line that runs: the words of its command, and what typer's parser found of its parameters."""
    global _ran
    arguments: list[str] = []
    options: dict[str, Value] = {}
    for each in parameters:
        value = values.get(each.name)
        if each.param_type_name == "argument":
            arguments += [value] if isinstance(value, str) else [word for word in value or () if isinstance(word, str)]
        else:
            says_no = value is False and bool(each.secondary_opts)
            names = each.secondary_opts if says_no else each.opts
            options[names[0].lstrip("-")] = says_no or value
    _ran = CommandLine(tuple(path.split()), tuple(arguments), options)


def again(**changes: Value) -> str:
    """Return the command that ran, with other values of some options: `zookeeper_home="/opt"`; None takes one away."""
    return _ran._replace(options={**_ran.options, **_named(changes)}).text()


def another(*words: str, keep: Collection[str] = (), **options: Value) -> str:
    """Return another command, of the options `keep` those that the one that ran was given, and these options."""
    kept = {name: value for name, value in _ran.options.items() if name in keep and name not in options}
    return CommandLine(("zabcheck", words[0]), words[1:], {**_named(options), **kept}).text()


def to_play(files: Sequence[object], protocol: str) -> str:
    """Return the command that takes up a counterexample with these files, its schedule first; "" without any."""
    if not files:
        return ""
    return another("play", str(files[0]), keep=["property"], **source(protocol))


def to_loss(files: Sequence[object], story: Story) -> str:
    """Return the command that shows what a user loses by the bug of a counterexample with these files.

    "" without any file, or if a user notices the violated property itself.
    """
    from zabcheck.play.loss import lost_in  # it needs the searches, which most commands do not

    if not files or story.violation is None or lost_in([story.violation.property]):
        return ""
    return another("explain", str(files[0]), loss=True, **source(story.protocol))


def source(protocol: str) -> dict[str, str]:
    """Return the option without which a file that names this protocol is not read; none if it needs none."""
    nodes = command_of(protocol)
    return {"exec": nodes.text} if nodes is not None else {"protocol": protocol} if is_class(protocol) else {}


def given(option: str) -> Any:
    """Return the value of an option of the command that ran, as it was given; None if it was not."""
    return _ran.options.get(option)


def with_switch(setting: str) -> list[str]:
    """Return the settings of the command that ran, with this one in place of another one of the same switch."""
    switch = setting.partition("=")[0]
    return [*(each for each in given("switch") or () if each.partition("=")[0] != switch), setting]


def one_at_a_time(options: Sequence[tuple[str, Value]], **changes: Value) -> str:
    """Return the command that ran with these changes and the first of these options, the others as a comment.

    "" for no options.
    """
    if not options:
        return ""
    others = [f"--{name} {value}" for name, value in options[1:]]
    [(name, value), *_] = options
    changes = {**changes, name: with_switch(str(value)) if name == "switch" else value}
    return again(**changes) + (f" # or, one at a time: {', '.join(others)}" if others else "")


def _named(options: Mapping[str, Value]) -> dict[str, Value]:
    return {name.replace("_", "-"): value for name, value in options.items()}
