"""Numbered pieces of work, run as Spark tasks: one task a piece.

A finished piece leaves a file, and the driver looks for these files while Spark works. So progress can be shown
wherever the tasks run, and a piece whose file exists is never made again.
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
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from zabcheck.campaign.session import check_master
from zabcheck.campaign.shipped_code import is_connect, module_folders
from zabcheck.campaign.spark_errors import one_line
from zabcheck.search.run import collect_garbage_less_often

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.3
"""The seconds between two looks into the folder."""
PATIENCE = 20.0
"""The number of seconds without a running task after which the driver checks that the master is still there."""


class TaskFailed(Exception):
    """A task failed each time that Spark tried it. The message is one line."""


def run_tasks(
    spark: "SparkSession",
    pieces: Sequence[int],
    worker: Callable[[], Callable[[int], None]],
    look: Callable[[float], None],
) -> None:
    """Do all pieces of work. Each task calls `worker` once, and calls the returned function with the piece's number.

    `look` is called every now and then, with the seconds for which no task has been running, and once more at the end;
    an exception that it raises ends the work. TaskFailed if a piece failed as often as Spark tries it, or if Spark has
    gone away; KeyboardInterrupt if Ctrl-C ended the work.
    """
    if not pieces:
        look(0)
        return
    with _interruptible():
        _run_tasks(spark, pieces, worker, look)


def _run_tasks(
    spark: "SparkSession",
    pieces: Sequence[int],
    worker: Callable[[], Callable[[int], None]],
    look: Callable[[float], None],
) -> None:
    with as_task_failed():
        running = _activity_of(spark)
        numbered = spark.range(0, len(pieces), 1, len(pieces))
        done = numbered.mapInArrow(_task_function(list(pieces), worker, module_folders(spark)), "piece long")
    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(done.collect)
        try:
            busy = monotonic()
            while not working.done():
                wait_for([working], _SECONDS)
                with as_task_failed():
                    busy = monotonic() if running() else busy
                    idle = monotonic() - busy
                    if idle > PATIENCE:
                        check_master(spark)
                look(idle)
        except BaseException:
            with suppress(Exception):  # it may be gone
                spark.interruptAll()
            raise
    with as_task_failed():
        working.result()
    look(0)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make Ctrl-C, SIGTERM and SIGHUP end in a KeyboardInterrupt, whatever becomes of the one that a handler raises.

    Spark's handler of Ctrl-C cancels the jobs, then raises. If that exception is lost, as in a finaliser, or turned
    into another one by the code it passes through, only a cancelled job is seen, which looks like a failed one. Py4J
    also logs a needless traceback of the interrupted call.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    before: dict[int, Callable[[int, FrameType | None], Any]] = {
        number: handler for number, handler in handlers.items() if callable(handler)
    }
    if current_thread() is not main_thread() or not before:
        yield
        return
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        before[number](number, frame)

    def is_news(record: logging.LogRecord) -> bool:
        return not came

    for number in before:
        signal.signal(number, note)
    logging.getLogger().addFilter(is_news)
    try:
        yield
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        logging.getLogger().removeFilter(is_news)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def as_task_failed() -> Iterator[None]:
    """Turn exceptions of Spark into TaskFailed."""
    try:
        yield
    except Exception as error:
        raise TaskFailed(one_line(error)) from error


def _activity_of(spark: "SparkSession") -> Callable[[], bool]:
    """Return a function that returns True if any task of the session is running."""
    if is_connect(spark):
        seen = Event()  # a task since the last look: the server reports every two seconds while there is one

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


def _task_function(
    pieces: list[int], worker: Callable[[], Callable[[int], None]], folders: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sys.path.extend(folder for folder in folders if folder not in sys.path)
        collect_garbage_less_often()
        work = worker()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                work(pieces[number])
                yield pa.RecordBatch.from_pydict({"piece": pa.array([pieces[number]], pa.int64())})

    return task
