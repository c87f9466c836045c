"""Numbered pieces of work, spread over what Spark has: one task a piece.

A piece leaves a file when it is done, and that is how the driver knows: it looks into the folder while Spark works, so
progress can be shown wherever the tasks run, and a piece whose file is there is never made again.
"""

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from threading import Event, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

import pyarrow as pa

from zabcheck.campaign.session import check_master
from zabcheck.campaign.shipped_code import folders, is_connect
from zabcheck.campaign.spark_errors import reason
from zabcheck.search.run import collect_garbage_less_often

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.3
"""How long to wait between two looks into the folder."""
PATIENCE = 20.0
"""After so many seconds without a task that runs, it is looked whether there still is a master."""


class TaskFailed(Exception):
    """A task failed, each time that Spark tried it. The message is one line."""


def spread(
    spark: "SparkSession",
    pieces: Sequence[int],
    worker: Callable[[], Callable[[int], None]],
    look: Callable[[float], None],
) -> None:
    """Do every piece. `worker` is called once in each task, and what it returns with each piece.

    `look` is called now and then, with the seconds for which no task has been running, and once more at the end; what
    it raises ends the work. TaskFailed if a piece failed as often as Spark tries it, or if there is no Spark any more;
    KeyboardInterrupt if Ctrl-C ended it.
    """
    if not pieces:
        look(0)
        return
    with _interruptible():
        _spread(spark, pieces, worker, look)


def _spread(
    spark: "SparkSession",
    pieces: Sequence[int],
    worker: Callable[[], Callable[[int], None]],
    look: Callable[[float], None],
) -> None:
    with _said():
        running = _running(spark)
        numbered = spark.range(0, len(pieces), 1, len(pieces))
        done = numbered.mapInArrow(_task(list(pieces), worker, folders(spark)), "piece long")
    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(done.collect)
        try:
            busy = monotonic()
            while not working.done():
                wait_for([working], _SECONDS)
                with _said():
                    busy = monotonic() if running() else busy
                    idle = monotonic() - busy
                    if idle > PATIENCE:
                        check_master(spark)
                look(idle)
        except BaseException:
            with suppress(Exception):  # it may be gone
                spark.interruptAll()
            raise
    with _said():
        working.result()
    look(0)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C is a KeyboardInterrupt in the end, whatever becomes of the one that Spark's handler raises.

    That handler cancels the jobs first. If what it raises then is lost, as in a finaliser, or made into something else
    by the code that it went through, the next thing that is heard of is a cancelled job, which looks like a failed one.
    Py4J logs what it was interrupted in, with a traceback: nobody needs that.
    """
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        before(number, frame)

    def is_news(record: logging.LogRecord) -> bool:
        return not came

    signal.signal(signal.SIGINT, note)
    logging.getLogger().addFilter(is_news)
    try:
        yield
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        logging.getLogger().removeFilter(is_news)
        signal.signal(signal.SIGINT, before)


@contextmanager
def _said() -> Iterator[None]:
    """What Spark raises becomes TaskFailed."""
    try:
        yield
    except Exception as error:
        raise TaskFailed(reason(error)) from error


def _running(spark: "SparkSession") -> Callable[[], bool]:
    """What tells whether any task of the session is running."""
    if is_connect(spark):
        seen = Event()  # since it was looked at last: the server tells every two seconds, as long as there is one

        def note(stages: object, inflight_tasks: int, operation_id: object, done: bool) -> None:
            if inflight_tasks:
                seen.set()

        def seen_any() -> bool:
            found = seen.is_set()
            seen.clear()
            return found

        spark.registerProgressHandler(note)
        return seen_any
    tracker = spark.sparkContext.statusTracker()

    def running() -> bool:
        stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
        return any(stage is not None and stage.numActiveTasks for stage in stages)

    return running


def _task(
    pieces: list[int], worker: Callable[[], Callable[[int], None]], folders: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sys.path[:0] = [folder for folder in folders if folder not in sys.path]
        collect_garbage_less_often()
        work = worker()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                work(pieces[number])
                yield pa.RecordBatch.from_pydict({"piece": pa.array([pieces[number]], pa.int64())})

    return task
