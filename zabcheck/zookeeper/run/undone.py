"""The reasons why a choice was not done, or not all of it: as data, with words for readers."""


class NotDone(Exception):
    """A choice was not done, or not all of it. The message says so to readers."""

    def __init__(self, message: str, *, idle: bool, ends_exact: bool) -> None:
        super().__init__(message)
        self.idle = idle
        """True if the choice did nothing but take time."""
        self.ends_exact = ends_exact
        """True if an exact execution cannot go on."""


class NotApplicable(NotDone):
    """The choice does not apply as things are, because of `why`."""

    def __init__(self, why: str) -> None:
        super().__init__(f"passed over: {why}", idle=True, ends_exact=True)


class NothingCame(NotDone):
    """No packet, or no thread, came while it was waited for."""

    def __init__(self, message: str) -> None:
        super().__init__(message, idle=True, ends_exact=True)


class OnlySome(NotDone):
    """Only `done` of several requests could be made, because of `why`."""

    def __init__(self, done: int, why: str) -> None:
        super().__init__(f"only {done} of them: {why}", idle=done == 0, ends_exact=done == 0)


class NoAnswer(NotDone):
    """Some writes have no answer."""

    def __init__(self) -> None:
        super().__init__("some writes have no answer", idle=False, ends_exact=False)


class NobodyLeads(NotDone):
    """No server leads, though one was waited for."""

    def __init__(self) -> None:
        super().__init__("nobody leads", idle=False, ends_exact=True)


class LessKept(NotDone):
    """Less was there to be kept when the power of a server failed than the schedule says."""

    def __init__(self, server: int, short: str) -> None:
        super().__init__(f"the power failure of server {server}: {short}", idle=False, ends_exact=True)
