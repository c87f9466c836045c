"""The recording that tests of traces write into."""

from pathlib import Path

import pytest

from tests.zookeeper.recordings import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)
