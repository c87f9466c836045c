"""The names of a campaign's folder: for Arrow, for Spark, and from another folder."""

from pathlib import Path

import pytest

from zabcheck.campaign.store import Store, StoreError, shared

S3 = "region=eu-central-1&endpoint_override=127.0.0.1:1&scheme=http"


def test_spark_is_told_the_uri_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Store(str(tmp_path / "a b")).uri("runs") == f"file://{tmp_path}/a b/runs"
    monkeypatch.chdir(tmp_path)
    assert Store("here").uri() == f"{tmp_path.as_uri()}/here"
    assert Store(tmp_path.as_uri()).uri("runs") == f"{tmp_path.as_uri()}/runs"


@pytest.mark.parametrize("owner", ["", "key:secret@"])
def test_what_arrow_calls_s3_is_s3a_to_spark_and_no_secret_goes_there(owner: str) -> None:
    store = Store(f"s3://{owner}bucket/first/campaign?{S3}")
    assert store.root == "bucket/first/campaign"
    assert store.uri("runs") == "s3a://bucket/first/campaign/runs"
    assert store.everywhere.endswith(S3)


def test_a_message_names_a_file_without_what_only_arrow_is_told() -> None:
    assert Store(f"s3://bucket/campaign?{S3}").path("campaign.json") == "s3://bucket/campaign/campaign.json"


def test_a_task_that_does_not_see_the_campaign_says_so_and_makes_no_folder(tmp_path: Path) -> None:
    place = tmp_path / "on-its-own-disk"
    with pytest.raises(StoreError, match=r"^--out .*/on-its-own-disk: a worker finds no campaign there; name a folder"):
        shared(str(place))
    assert not place.exists()


def test_half_written_files_are_swept_in_every_folder(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for folder in ("runs", "minimised", "findings"):
        store.write(f"{folder}/whole", b"")
        (tmp_path / folder / ".part.0.tmp").touch()
    store.sweep()
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()) == [
        "findings/whole",
        "minimised/whole",
        "runs/whole",
    ]
