"""The tables as arrays of numpy (`arrays`), and the successors of many states looked up in them at once (`many`)."""

import sys


def pays_from(large: int) -> int:
    """Return how many states a level has to have, so that arrays pay: `large`, a quarter of it if numpy is loaded.

    To load numpy costs as much as to expand some hundreds of states one by one.
    """
    return large // 4 if "numpy" in sys.modules else large
