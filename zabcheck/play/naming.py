"""The choices of a session in words."""

from collections.abc import Mapping

from msgspec import structs

from zabcheck.counterexample.story import Flight, flights_of, handled_in
from zabcheck.play.session import Option, Position
from zabcheck.simulation.choices import Choice, Quiesce

ROUND = (
    "in a round each process handles the messages that wait for it when the round begins, then each syncs its disk; "
    "what is sent meanwhile waits for the next round"
)
"""One round of the choice `settle`."""
LEAVE_ALONE = "leave it alone until nothing is left to be done"


def told(option: Option, flights: Mapping[int, Flight]) -> str:
    """Return an option in a few words, with the process that moves. `flights` has what was sent so far."""
    if isinstance(option.choice, Quiesce):
        return LEAVE_ALONE
    sent = {flight.number: flight for flight in flights_of([(None, option.events)])}  # and handled by the same choice
    text = option.choice.words(option.events, handled_in(option.events, {**sent, **flights}))
    process = getattr(option.choice, "process", None)
    return text if process is None else f"p{process} {text}"


def named_at(position: Position) -> str:
    """Return the choice that led to a position, as one types it."""
    return "the beginning" if position.choice is None else typed(position.choice)


def typed(choice: Choice) -> str:
    """Return a choice as one types it, without values that are the default."""
    words = [str(choice.__struct_config__.tag)]
    for field in structs.fields(type(choice)):
        value = getattr(choice, field.name)
        if value != field.default:
            words += [str(each) for each in (value if isinstance(value, tuple) else (value,))]
    return " ".join(words)
