"""The folder of a campaign, on any file system that Arrow knows: this machine's, or s3://, gs://, hdfs://.

    campaign.json              the plan
    runs/part-000012.parquet   a row a run; its presence says that the part is finished
    events/part-000012.parquet the events of its runs, unless none are kept
    findings/                  the counterexamples
    tables/, report.html       what `zabcheck campaign report` makes of it

A file is written beside, under a name that readers pass over, and renamed when it is whole. The events of a part come
before its runs. So whatever is killed at whatever time, there is no half part: it is there, or it is made again.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from zabcheck.campaign import plan as plans
from zabcheck.campaign.plan import Plan
from zabcheck.campaign.schema import RUNS

PLAN = "campaign.json"
RUNS_FOLDER = "runs"
EVENTS_FOLDER = "events"
_PATTERN = re.compile(r"[][{}*?\\]")
_PART = re.compile(r"part-(\d{6,})\.parquet")


class StoreError(ValueError):
    """The folder, or a file in it, is not what it has to be. The message is one line that names it."""


class Store:
    """The folder at `place`, a path or a URI. StoreError if no file system knows it."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/") or place
        try:
            if "://" in place:
                self.files, self.root = pafs.FileSystem.from_uri(self.place)
            else:
                self.files, self.root = pafs.LocalFileSystem(), str(Path(self.place).absolute())
        except (OSError, ValueError) as error:
            raise StoreError(f"{place}: {_reason(error)}") from None

    @property
    def everywhere(self) -> str:
        """The place, for a process that may have another current directory."""
        return self.place if "://" in self.place else self.root

    def uri(self, name: str = "") -> str:
        """What Spark calls a file of the folder.

        It reads s3://bucket as s3a://bucket, with settings of its own; what a URI tells Arrow behind a `?` is no name
        to it. In a path nothing is encoded, but what would be a pattern is escaped.
        """
        start = "file://" + _PATTERN.sub(r"\\\g<0>", self.root)
        if "://" in self.place:
            start = re.sub("^s3://(.*@)?", "s3a://", self.place.partition("?")[0])
        return f"{start}/{name}" if name else start

    def path(self, name: str) -> str:
        """What a message calls it."""
        return f"{self.place.partition('?')[0]}/{name}"

    # The plan.

    def plan(self) -> Plan | None:
        """That of the folder, or None if it has none. StoreError if it cannot be read."""
        content = self.read(PLAN)
        try:
            return None if content is None else plans.load(content, self.path(PLAN))
        except ValueError as error:
            raise StoreError(str(error)) from None

    def begin(self, plan: Plan) -> None:
        """Make the folder, with its plan. StoreError if that cannot be."""
        with self.errors(""):
            for folder in ("", RUNS_FOLDER, EVENTS_FOLDER):
                self.files.create_dir(self._at(folder))
        self.write(PLAN, plans.dump(plan))

    # Parts.

    def finished(self) -> dict[int, str]:
        """The numbers of the parts that are finished, each with the name of its file of runs."""
        return {
            int(found[1]): f"{RUNS_FOLDER}/{name}"
            for name in self.names(RUNS_FOLDER)
            if (found := _PART.fullmatch(name))
        }

    def check_part(self, plan: Plan, part: int) -> None:
        """StoreError if a finished part is not whole, or is not of this plan. Costs a look at its footers."""
        name = name_of(RUNS_FOLDER, part)
        found = self.table(name, RUNS, ["run", "part", "seed"])
        runs = plan.runs_of(part)
        if found.num_rows != len(runs) or found["seed"].to_pylist() != [str(plan.seed_of(run)) for run in runs]:
            raise StoreError(f"{self.path(name)}: expected runs {runs.start} to {runs.stop - 1} of this campaign")
        if plan.keep != "none":
            self.footer(name_of(EVENTS_FOLDER, part))

    def table(self, name: str, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
        """A Parquet file, or some of its columns. StoreError if it is none, or has other columns."""
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
        """The schema of a Parquet file. StoreError if it is corrupt, cut off, or not there."""
        with self.errors(name):
            return pq.read_schema(self._at(name), filesystem=self.files)

    def write_table(self, name: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, **how: Any) -> None:
        """Write a Parquet file, whole or not at all. StoreError if that cannot be."""
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
        """The names of the files in a folder, sorted; none if there is no such folder."""
        selector = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self.errors(folder):
            return sorted(each.base_name for each in self.files.get_file_info(selector) if each.is_file)

    def size(self, folder: str) -> int:
        """Of all files in a folder together, in bytes."""
        selector = pafs.FileSelector(self._at(folder), allow_not_found=True)
        with self.errors(folder):
            return sum(each.size for each in self.files.get_file_info(selector) if each.is_file)

    def read(self, name: str) -> bytes | None:
        """The content of a file, None if there is none. StoreError if it cannot be read."""
        with self.errors(name):
            if self.files.get_file_info(self._at(name)).type == pafs.FileType.NotFound:
                return None
            with self.files.open_input_stream(self._at(name)) as source:
                return bytes(source.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all. StoreError if that cannot be."""
        with self.errors(name), self._beside(name) as beside, self.files.open_output_stream(beside) as sink:
            sink.write(content)

    def sweep(self) -> None:
        """Delete what killed tasks left half written. Nobody else may be at work in the folder."""
        selector = pafs.FileSelector(self.root, recursive=True, allow_not_found=True)
        with self.errors(""):
            for each in self.files.get_file_info(selector):
                if each.base_name.startswith(".") and each.base_name.endswith(".tmp"):
                    self.files.delete_file(each.path)

    @contextmanager
    def _beside(self, name: str) -> Iterator[str]:
        """Where to write; the file gets its name when the block ends well, and is gone if it does not."""
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
        """What the file system or Arrow says against a file becomes a StoreError that names it."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{self.path(name) if name else self.place}: {_reason(error)}") from None


def shared(place: str) -> Store:
    """The folder as a task sees it. StoreError if that is another one than the driver's, on a worker's own disk."""
    store = Store(place)
    if store.read(PLAN) is None:
        raise StoreError(f"--out {place}: a worker finds no campaign there; name a folder that all machines share")
    return store


def name_of(folder: str, part: int) -> str:
    """The name of a part's file, in one of the two folders."""
    return f"{folder}/part-{part:06}.parquet"


def _reason(error: Exception) -> str:
    """In one line. Arrow adds what the system said, with its number, to a text of its own."""
    text = " ".join(str(error).split())
    found = re.search(r"\[errno \d+\] ([^.\[]+)", text)
    if isinstance(error, OSError) and error.strerror and "errno" not in error.strerror:
        return error.strerror
    return found[1] if found else text
