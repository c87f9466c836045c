"""Leaves out parts of a list, ever smaller ones (delta debugging, Zeller and Hildebrandt 2002)."""

from collections.abc import Callable


def leave_out_parts(length: Callable[[], int], shown: Callable[[int, int], bool], more: Callable[[], bool]) -> None:
    """Leave out parts of a list of this `length`, ever smaller ones, until none is left that can be, or no `more` time.

    `shown` tries to leave out the items from a number up to another; if it returns True, they are gone.
    """
    part = max(1, length() // 2)
    while more():
        start = 0
        shorter = False
        while start < length() and more():
            if shown(start, start + part):
                shorter = True
            else:
                start += part
        if part == 1 and not shorter:
            break
        part = part if shorter and part == 1 else max(1, part // 2)
