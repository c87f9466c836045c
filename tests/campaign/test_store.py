"""The folder of a campaign: a file is whole or not there, and what is wrong with one is said in one line."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.campaign.plans import begun, made, plan_of
from zabcheck.campaign.schema import RUNS
from zabcheck.campaign.store import PLAN, Store, StoreError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A campaign of three parts, all made."""
    return made(tmp_path, plan_of(12, steps=10))


def message(store: Store, part: int = 0) -> str:
    """Return the one line that names the fault of a part, without the folder's name."""
    with pytest.raises(StoreError) as raised:
        store.check_part(plan_of(12, steps=10), part)
    text = str(raised.value)
    assert "\n" not in text
    assert text.startswith(f"{store.place}/")
    return text.removeprefix(f"{store.place}/")


def test_a_new_folder_has_a_plan_and_no_parts(tmp_path: Path) -> None:
    store = begun(tmp_path / "a/b", plan_of())
    assert Store(str(tmp_path / "a/b")).plan() == plan_of()
    assert store.finished() == {}
    assert Store(str(tmp_path)).plan() is None


def test_finished_parts_are_whole(store: Store) -> None:
    assert store.finished() == {0: "runs/part-000000.parquet", 1: "runs/part-000001.parquet"}
    for part in store.finished():
        store.check_part(plan_of(12, steps=10), part)


def test_a_place_can_be_a_uri(store: Store) -> None:
    same = Store(store.uri())
    assert store.uri("runs") == f"{Path(store.root).as_uri()}/runs"
    assert same.uri("runs") == store.uri("runs")
    assert same.finished() == store.finished()
    assert same.plan() == store.plan()


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_part_that_is_cut_off_is_named(store: Store, keep: int) -> None:
    path = Path(store.root, "runs/part-000001.parquet")
    path.write_bytes(path.read_bytes()[:keep])
    assert message(store, 1).startswith("runs/part-000001.parquet: ")


def test_events_that_are_cut_off_are_named(store: Store) -> None:
    path = Path(store.root, "events/part-000001.parquet")
    path.write_bytes(path.read_bytes()[:-5])
    assert message(store, 1).startswith("events/part-000001.parquet: ")
    path.unlink()
    assert "No such file" in message(store, 1)


def test_a_part_with_bytes_changed_in_the_middle_is_named(store: Store) -> None:
    path = Path(store.root, "runs/part-000000.parquet")
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)
    assert message(store).startswith("runs/part-000000.parquet: ")


def test_a_missing_column_is_named(store: Store) -> None:
    path = Path(store.root, "runs/part-000000.parquet")
    pq.write_table(pq.read_table(path).drop(["goals"]), path)
    assert message(store) == "runs/part-000000.parquet: expected a column `goals`, found none"


def test_a_column_of_another_type_is_named(store: Store) -> None:
    path = Path(store.root, "runs/part-000000.parquet")
    table = pq.read_table(path)
    place = RUNS.names.index("steps")
    pq.write_table(table.set_column(place, "steps", table["steps"].cast(pa.int64())), path)
    assert message(store) == "runs/part-000000.parquet, column `steps`: expected int32, found int64"


def test_a_part_of_another_campaign_is_noticed(store: Store, tmp_path: Path) -> None:
    other = made(tmp_path / "other", plan_of(12, steps=10, seed=2))
    path = "runs/part-000000.parquet"
    Path(store.root, path).write_bytes(Path(other.root, path).read_bytes())
    assert message(store) == f"{path}: expected runs 0 to 9 of this campaign"


def test_a_plan_that_is_none_is_named(store: Store) -> None:
    Path(store.root, PLAN).write_text("[")
    with pytest.raises(StoreError, match=r"campaign\.json: Expected `object`, got `array`"):
        store.plan()


def test_half_written_files_are_swept_away_and_nothing_else(store: Store) -> None:
    before = {path for path in Path(store.root).rglob("*") if path.is_file()}
    for name in (".campaign.json.1f.tmp", "runs/.part-000007.parquet.2e.tmp", "events/.part-000007.parquet.3d.tmp"):
        Path(store.root, name).write_bytes(b"PAR1")
    assert set(store.finished()) == {0, 1}
    store.sweep()
    assert {path for path in Path(store.root).rglob("*") if path.is_file()} == before


class Vanishing:
    """Files of which one is taken away while the folder is listed, and each other as it would be deleted."""

    def __init__(self, files: Any) -> None:
        self.files, self.listings = files, 0

    def get_file_info(self, selector: object) -> object:
        self.listings += 1
        if self.listings == 1:
            raise FileNotFoundError
        return self.files.get_file_info(selector)

    def delete_file(self, path: str) -> None:
        self.files.delete_file(path)
        self.files.delete_file(path)


def test_a_cancelled_task_may_take_its_own_files_away_meanwhile(store: Store) -> None:
    half = Path(store.root, ".campaign.json.1f.tmp")
    half.write_bytes(b"PAR1")
    store.files = Vanishing(store.files)
    store.sweep()
    assert not half.exists()


def test_a_file_that_cannot_be_finished_leaves_nothing(store: Store) -> None:
    before = sorted(Path(store.root, "runs").iterdir())

    def batches() -> object:
        yield pa.RecordBatch.from_pylist([], RUNS)
        raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match=r"runs/part-000009\.parquet: No space left on device"):
        store.write_table("runs/part-000009.parquet", batches(), RUNS)  # type: ignore[arg-type]  # it is an iterator
    assert sorted(Path(store.root, "runs").iterdir()) == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file"):
        begun(tmp_path / "file", plan_of())


def test_a_file_system_that_there_is_not_is_refused() -> None:
    with pytest.raises(StoreError, match=r"^ftp://host/folder: Unrecognized filesystem type"):
        Store("ftp://host/folder")
