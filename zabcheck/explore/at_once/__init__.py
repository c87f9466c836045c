"""The tables as arrays of numpy (`arrays`), and the successors of many states looked up in them at once (`many`)."""

import sys


def pays_from(large: int) -> int:
    """Return the number of states from which arrays pay for a level: `large`, a quarter of it if numpy is loaded.

    Loading numpy costs as much as expanding some hundreds of states one by one.
    """
    return large // 4 if "numpy" in sys.modules else large
