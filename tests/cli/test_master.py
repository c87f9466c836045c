"""Values of `--master`, and the message about a master that is not there: Java is not started for that."""

import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Command

EXPECTED = "expected local[N], spark://HOST:PORT, sc://HOST, k8s://URL or yarn"


@pytest.fixture(autouse=True)
def _no_session_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the session: other tests may have started one in this process, which would be taken."""
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)


@pytest.mark.parametrize(
    "master",
    ["foo", "", "local[x]", "local[2", "local[*,2,3]", "spark://", "spark:/host", "sc://", "spark://a b", "k8s:"],
)
def test_what_is_no_master_is_named(master: str, zabcheck: Command, tmp_path: Path) -> None:
    result = zabcheck("campaign", "--runs", "1", "--out", "out", "--master", master)
    assert (result.code, result.out, result.err) == (2, "", f"zabcheck: --master {master}: {EXPECTED}\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("variable", ["MASTER", "SPARK_REMOTE"])
def test_a_master_of_the_environment_is_called_by_its_variable(
    variable: str, zabcheck: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "foo")
    result = zabcheck("campaign", "--runs", "1", "--out", "out")
    assert (result.code, result.err) == (2, f"zabcheck: {variable} foo: {EXPECTED}\n")


@pytest.mark.parametrize("kind", ["spark", "sc"])
def test_a_master_that_is_not_there_is_an_error_at_once(kind: str, zabcheck: Command, tmp_path: Path) -> None:
    with socket.socket() as taken:  # nobody listens
        taken.bind(("127.0.0.1", 0))
        master = f"{kind}://127.0.0.1:{taken.getsockname()[1]}"
        result = zabcheck("campaign", "--runs", "1", "--out", "out", "--master", master)
    assert result == (2, "", f"zabcheck: --master {master}: cannot be reached, Connection refused\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("master", ["spark://127.0.0.1:99999", "spark://127.0.0.1:x", "sc://nowhere.invalid"])
def test_an_address_that_is_none_is_an_error_at_once(master: str, zabcheck: Command) -> None:
    result = zabcheck("campaign", "--runs", "1", "--out", "out", "--master", master)
    assert result.code == 2
    assert result.err.startswith(f"zabcheck: --master {master}: cannot be reached, ")
    assert result.err.count("\n") == 1


def test_what_answers_and_is_no_spark_connect_is_an_error(zabcheck: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabcheck.campaign.session.TIMEOUT", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"sc://127.0.0.1:{server.getsockname()[1]}"
        result = zabcheck("campaign", "--runs", "1", "--out", "out", "--master", master)
    assert result == (2, "", f"zabcheck: --master {master}: what answers there is no Spark Connect\n")
