"""The frames by which a channel is built over a link that loses, repeats and reorders them."""

from typing import Any

from zabcheck.protocols.base import Message

NOT_KNOWN = 0


class Frame(Message, frozen=True):
    """A frame on the link. Any may be lost, arrive twice, or arrive after a later one."""


class Open(Frame, frozen=True):
    """The receiver has begun an iteration, and wants what is sent to it from now on."""

    iteration: int


class Data(Frame, frozen=True):
    """The message of this number, from 1 on, in iteration `iteration` of its sender and `of` of its receiver.

    `of` is NOT_KNOWN where the sender has not heard from its receiver in this iteration.
    """

    iteration: int
    of: int
    number: int
    value: Any


class Ack(Frame, frozen=True):
    """The receiver has every message up to `number` of iteration `iteration` of the sender."""

    iteration: int
    number: int
