"""The files of a campaign: one row a run in `runs/`, its events in `events/`. Both are Parquet, one file a part.

A row of `runs`:

    run         int64     number of the run in the campaign, from 0
    part        int32     the part that made it
    seed        string    the run's own seed, 64 bits in decimal: `zabcheck run --engine swarm --runs 1 --seed SEED`
    mutant      string    the planted bug; null for the protocol as it is
    processes   int32     how many
    quorums     string    the quorum system
    switches    map       those of the protocol, and the simulator's, as they were drawn
    weights     map       the moves that were drawn, with their weight; what is missing was left out
    order       string    what decided the order of messages: "moves", "priorities" or "rejoining"
    demoted     double    how often, under priorities, what just happened fell behind all others
    cycle       double    how often the next move was the one of the cycle
    broken      string    the property that broke first; "error" if an error of the code that is modelled ended the run
                          (`--switch errors=raised`); null if nothing is wrong
    violated    list      all properties that were violated when the run ended; or only "error"
    raised      string    the exception of the protocol's own code, or the error, if one came; nothing is judged then
    steps       int32     fine steps
    events      int32     events, header and end not counted
    broadcasts  int32     of these, broadcasts
    deliveries  int32     of these, deliveries
    crashes     int32     of these, crashes
    epochs      int32     epochs that were established
    longest     int32     transactions in the longest delivered sequence
    judged      map       for each property how often it could have been broken; 0 means not exercised
    goals       list      the goals that the run reached
    reached     int32     how many abstract states the run was in (see `zabcheck.search.coverage`)
    states      list      fingerprints, int64, of those of them in which no earlier run of the part was
    seconds     double    CPU time that the run took, its search and its judging, in whole microseconds

The columns of `events` are those of `invariants.columns`; `run` is the number above.
"""

import pyarrow as pa

_COUNTS = pa.map_(pa.string(), pa.int64())
_TEXTS = pa.map_(pa.string(), pa.string())

RUNS = pa.schema(
    [
        pa.field("run", pa.int64(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
        pa.field("seed", pa.string(), nullable=False),
        pa.field("mutant", pa.string()),
        pa.field("processes", pa.int32(), nullable=False),
        pa.field("quorums", pa.string(), nullable=False),
        pa.field("switches", _TEXTS, nullable=False),
        pa.field("weights", _COUNTS, nullable=False),
        pa.field("order", pa.string(), nullable=False),
        pa.field("demoted", pa.float64(), nullable=False),
        pa.field("cycle", pa.float64(), nullable=False),
        pa.field("broken", pa.string()),
        pa.field("violated", pa.list_(pa.string()), nullable=False),
        pa.field("raised", pa.string()),
        pa.field("steps", pa.int32(), nullable=False),
        pa.field("events", pa.int32(), nullable=False),
        pa.field("broadcasts", pa.int32(), nullable=False),
        pa.field("deliveries", pa.int32(), nullable=False),
        pa.field("crashes", pa.int32(), nullable=False),
        pa.field("epochs", pa.int32(), nullable=False),
        pa.field("longest", pa.int32(), nullable=False),
        pa.field("judged", _COUNTS, nullable=False),
        pa.field("goals", pa.list_(pa.string()), nullable=False),
        pa.field("reached", pa.int32(), nullable=False),
        pa.field("states", pa.list_(pa.int64()), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
    ]
)
"""The columns of a row of `runs`."""

RUNS_PARQUET = {"compression": "zstd"}
"""The options with which `pyarrow.parquet` writes `runs`."""
