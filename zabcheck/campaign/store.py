"""The folder of a campaign, on any file system that Arrow knows: this machine's, or s3://, gs://, hdfs://.

    campaign.json              the plan
    runs/part-000012.parquet   a row for each run; if this file exists, the part is finished
    events/part-000012.parquet the events of the part's runs, unless none are kept
    findings/                  the counterexamples
    tables/, report.html       what `zabcheck campaign report` writes

A file is written beside its place, under a name that readers ignore, and renamed when it is complete. The events of a
part are written before its runs. So there is no half part, whatever is killed at whatever time: a part is there, or it
is made again.
"""

import errno
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from zabcheck.campaign import plan as plans
from zabcheck.campaign.files import file_system, in_one_line
from zabcheck.campaign.plan import AnyPlan, Plan
from zabcheck.campaign.schema import RUNS

MOST_BYTES = 1 << 28
"""The longest file that is read whole: a plan, a list of findings."""

PLAN = "campaign.json"
RUNS_FOLDER = "runs"
EVENTS_FOLDER = "events"
_PATTERN = re.compile(r"[][{}*?\\]")
_PART = re.compile(r"part-(\d{6,})\.parquet")
_UNDER_WAY = re.compile(r"\.part-(\d{6,})\.(\d+)-made\.[0-9a-f]+\.tmp")
_MOST_LISTINGS = 20
"""The number of times that a folder is listed in which files come and go."""


class StoreError(ValueError):
    """The folder, or a file in it, is not what it should be. The message is one line that names the file."""


class Store:
    """The folder of a campaign at `place`, a path or a URI. StoreError if no file system understands `place`."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/") or place
        try:
            self.files, self.root = file_system(self.place)
        except (OSError, ValueError) as error:
            raise StoreError(f"{place}: {in_one_line(error)}") from None

    @property
    def everywhere(self) -> str:
        """The place, written so that a process with another current directory finds it."""
        return self.place if "://" in self.place else self.root

    def uri(self, name: str = "") -> str:
        """Return the name that Spark has for a file of the folder.

        For Spark, s3://bucket is s3a://bucket, with settings of its own, and the part of a URI after `?`, which is for
        Arrow, has to go. A local path is not percent-encoded, but characters that would be a pattern are escaped.
        """
        start = "file://" + _PATTERN.sub(r"\\\g<0>", self.root)
        if "://" in self.place:
            start = re.sub("^s3://(.*@)?", "s3a://", self.place.partition("?")[0])
        return f"{start}/{name}" if name else start

    def path(self, name: str) -> str:
        """Return the name of a file for messages."""
        return f"{self.place.partition('?')[0]}/{name}"

    # The plan.

    def plan(self) -> Plan | None:
        """Return the plan of the folder, None if it has none. StoreError if the plan cannot be read."""
        content = self.read(PLAN)
        try:
            return None if content is None else plans.load(content, self.path(PLAN))
        except ValueError as error:
            raise StoreError(str(error)) from None

    def begin(self, plan: AnyPlan) -> None:
        """Make the folder, with its plan. StoreError if that fails."""
        with self.errors(""):
            for folder in ("", RUNS_FOLDER, EVENTS_FOLDER):
                self.files.create_dir(self._at(folder))
        self.write(PLAN, plans.dump(plan))

    # Parts.

    def finished(self) -> dict[int, str]:
        """Return the numbers of the finished parts, each with the name of its file of runs."""
        return {
            int(found[1]): f"{RUNS_FOLDER}/{name}"
            for name in self.names(RUNS_FOLDER)
            if (found := _PART.fullmatch(name))
        }

    def under_way(self) -> dict[int, int]:
        """Return for each part that is being made how many of its runs are made, by a task's own report.

        The report of a killed task stays until `sweep`.
        """
        made: dict[int, int] = {}
        for name in self.names(RUNS_FOLDER):
            if found := _UNDER_WAY.fullmatch(name):
                made[int(found[1])] = max(int(found[2]), made.get(int(found[1]), 0))
        return made

    @contextmanager
    def telling(self, part: int) -> Iterator[Callable[[int], None]]:
        """Yield a function that publishes in the folder how many runs of a part are made, until the end.

        It makes an empty file, which has the number in its name and which readers ignore.
        """
        last = ""

        def tell(made: int) -> None:
            nonlocal last
            name = self._at(f"{RUNS_FOLDER}/.part-{part:06}.{made}-made.{uuid4().hex}.tmp")
            self.files.open_output_stream(name).close()
            forget()
            last = name

        def forget() -> None:
            if last:
                with suppress(OSError):
                    self.files.delete_file(last)

        with self.errors(name_of(RUNS_FOLDER, part)):
            try:
                yield tell
            finally:
                forget()

    def check_part(self, plan: AnyPlan, part: int, schema: pa.Schema = RUNS) -> None:
        """Raise StoreError if a finished part is incomplete, or is not one of this plan.

        Reads three columns of the runs, which have this schema, and the footer of the events.
        """
        name = name_of(RUNS_FOLDER, part)
        found = self.table(name, schema, ["run", "part", "seed"])
        runs = plan.runs_of(part)
        if found.num_rows != len(runs) or found["seed"].to_pylist() != [str(plan.seed_of(run)) for run in runs]:
            raise StoreError(f"{self.path(name)}: expected runs {runs.start} to {runs.stop - 1} of this campaign")
        if plan.keep != "none":
            self.footer(name_of(EVENTS_FOLDER, part))

    def table(self, name: str, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
        """Read a Parquet file, or some of its columns. StoreError if it is no such file, or lacks a column."""
        footer = self.footer(name)
        for field in schema:
            if field.name not in footer.names:
                raise StoreError(f"{self.path(name)}: expected a column `{field.name}`, found none")
            found = footer.field(field.name).type
            if found != field.type:
                raise StoreError(f"{self.path(name)}, column `{field.name}`: expected {field.type}, found {found}")
        with self.errors(name):
            return pq.read_table(self._at(name), columns=columns, filesystem=self.files)

    def footer(self, name: str) -> pa.Schema:
        """Read the schema of a Parquet file. StoreError if the file is corrupt, cut off, or missing."""
        with self.errors(name):
            return pq.read_schema(self._at(name), filesystem=self.files)

    def write_table(self, name: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **how: Any) -> None:
        """Write a Parquet file, whole or not at all. StoreError if that fails."""
        with (
            self.errors(name),
            self._beside(name) as beside,
            self.files.open_output_stream(beside) as sink,
            pq.ParquetWriter(sink, schema, **how) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)

    # Files.

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; an empty list if there is no such folder."""
        selector = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self.errors(folder):
            return sorted(each.base_name for each in self.files.get_file_info(selector) if each.is_file)

    def size(self, folder: str) -> int:
        """Return the total size of the files in a folder, in bytes."""
        selector = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self.errors(folder):
            return sum(each.size for each in self.files.get_file_info(selector) if each.is_file)

    def is_empty(self) -> bool:
        """Return True if there is no file in the folder, or no folder."""
        selector = pafs.FileSelector(self.root, recursive=True, allow_not_found=True)
        with self.errors(""):
            return not any(each.is_file for each in self.files.get_file_info(selector))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is no such file. StoreError if it cannot be read."""
        with self.errors(name):
            found = self.files.get_file_info(self._at(name))
            if found.type == pafs.FileType.NotFound:
                return None
            if not found.is_file:
                raise OSError(errno.EINVAL, "expected a regular file")
            if (found.size or 0) > MOST_BYTES:
                raise OSError(errno.EFBIG, f"expected at most {MOST_BYTES:,} bytes")
            with self.files.open_input_stream(self._at(name)) as source:
                return bytes(source.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all. StoreError if that fails."""
        with self.errors(name), self._beside(name) as beside, self.files.open_output_stream(beside) as sink:
            sink.write(content)

    def sweep(self) -> None:
        """Delete files that killed tasks left half written. Nothing else may begin to write to the folder meanwhile.

        A task that was cancelled may still take its own away.
        """
        with self.errors(""):
            for path in self._half_written():
                with suppress(FileNotFoundError):
                    self.files.delete_file(path)

    def _half_written(self) -> list[str]:
        selector = pafs.FileSelector(self.root, recursive=True, allow_not_found=True)
        for _ in range(_MOST_LISTINGS):
            with suppress(FileNotFoundError):  # one was taken away while the folder was listed
                listed = self.files.get_file_info(selector)
                return [
                    each.path for each in listed if each.base_name.startswith(".") and each.base_name.endswith(".tmp")
                ]
        raise OSError(errno.EBUSY, "files come and go: does another campaign write here?")

    @contextmanager
    def _beside(self, name: str) -> Iterator[str]:
        """Provide a temporary name to write to. The file gets its real name if the block succeeds, else is deleted."""
        folder, _, base = name.rpartition("/")
        if folder:
            self.files.create_dir(self._at(folder))
        beside = self._at(f"{folder}/.{base}.{uuid4().hex}.tmp".lstrip("/"))
        try:
            yield beside
            self.files.move(beside, self._at(name))
        except BaseException:
            with suppress(OSError):
                self.files.delete_file(beside)
            raise

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root

    @contextmanager
    def errors(self, name: str) -> Iterator[None]:
        """Turn an error of the file system or of Arrow into a StoreError that names the file."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{self.path(name) if name else self.place}: {in_one_line(error)}") from None


def shared(place: str) -> Store:
    """Open the folder in a task. StoreError if it holds no campaign: it is on a worker's own disk, then."""
    store = Store(place)
    if store.read(PLAN) is None:
        raise StoreError(f"--out {place}: a worker finds no campaign there; name a folder that all machines share")
    return store


def name_of(folder: str, part: int) -> str:
    """Return the name of a part's file in one of the two folders."""
    return f"{folder}/part-{part:06}.parquet"
