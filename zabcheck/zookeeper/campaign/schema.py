"""The files of a campaign on simulated servers: a row a run in `runs/`, and the recordings in `events/`.

A row of `runs`:

    run           int64     number of the run in the campaign, from 0
    part          int32     the part that made it
    seed          string    the run's own seed: `zabcheck zookeeper --runs 1 --seed SEED`
    zookeeper     string    the version
    wrong         list      what is wrong: properties, kinds of findings, rules for packets; the severest first
    known         list      bugs of ZooKeeper that it looks like, by their signatures
    noticed       list      what else was noticed, which does not count as wrong
    faults        list      the kinds of faults in the schedule
    order_of_threads string the strategy by which the order of threads was drawn
    exercised     list      the properties that had something to judge
    partial       bool      the recording has no end
    error         string    why the ensemble itself failed; null if it did not
    schedule      string    the schedule with its order of threads, as JSON; null if nothing is wrong
    asked         int32     writes that clients asked for
    acknowledged  int32     of these, those that were acknowledged
    epochs        int32     epochs with a leader
    packets       int32     packets that were judged
    logged        int32     deliveries that the transaction logs show
    delivered     int32     of these, those in the trace
    states        list      fingerprints, int64, of the abstract states of Zab that the run was in
    orders        list      fingerprints, int64, of the orders of three packets at a server that it had
    seconds       double    CPU time that the run took, its execution and its judging, in whole microseconds

A row of `events` is a file of a recording: `run` is the number above, `file` its name, `content` its bytes.
"""

import pyarrow as pa

_NAMES = pa.list_(pa.string())

ENSEMBLE_RUNS = pa.schema(
    [
        pa.field("run", pa.int64(), nullable=False),
        pa.field("part", pa.int32(), nullable=False),
        pa.field("seed", pa.string(), nullable=False),
        pa.field("zookeeper", pa.string(), nullable=False),
        pa.field("wrong", _NAMES, nullable=False),
        pa.field("known", _NAMES, nullable=False),
        pa.field("noticed", _NAMES, nullable=False),
        pa.field("faults", _NAMES, nullable=False),
        pa.field("order_of_threads", pa.string(), nullable=False),
        pa.field("exercised", _NAMES, nullable=False),
        pa.field("partial", pa.bool_(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("schedule", pa.string()),
        pa.field("asked", pa.int32(), nullable=False),
        pa.field("acknowledged", pa.int32(), nullable=False),
        pa.field("epochs", pa.int32(), nullable=False),
        pa.field("packets", pa.int32(), nullable=False),
        pa.field("logged", pa.int32(), nullable=False),
        pa.field("delivered", pa.int32(), nullable=False),
        pa.field("states", pa.list_(pa.int64()), nullable=False),
        pa.field("orders", pa.list_(pa.int64()), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
    ]
)
"""The columns of a row of `runs`."""

RECORDINGS = pa.schema(
    [
        pa.field("run", pa.int64(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("content", pa.binary(), nullable=False),
    ]
)
"""The columns of a row of `events`."""
