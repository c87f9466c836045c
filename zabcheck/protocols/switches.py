"""The switches of a run: how finely it is modelled, and what goes on besides the broadcast itself.

They belong to the schedule. A search draws them anew for each run, as bugs differ in the grain that shows them.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

COUNTER_LIMIT = 2**32 - 1
"""The highest counter of an epoch: ZooKeeper packs it into 32 bits."""


class Switches(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a run is modelled. The defaults are the letter of DSN 2011, IV.

    `histories`: ACK-E and NEWLEADER carry whole histories ("full"), or what the receiver lacks ("missing": the
    optimisation at the end of IV).
    `sync`: writing and syncing are separate choices, or one ("atomic").
    `elections`: each oracle changes its mind by itself ("apart"), or an election is one choice that tells a leader and
    its followers ("together").
    `application`: none, or a replicated key-value state whose digest every process shows ("key-value").
    `counter_limit`: the highest counter of an epoch.
    """

    histories: Literal["full", "missing"] = "full"
    sync: Literal["separate", "atomic"] = "separate"
    elections: Literal["apart", "together"] = "apart"
    application: Literal["none", "key-value"] = "none"
    counter_limit: Annotated[int, Meta(ge=1, le=COUNTER_LIMIT)] = COUNTER_LIMIT


LETTER = Switches()
"""The letter of the paper."""
