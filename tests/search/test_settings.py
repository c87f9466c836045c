"""The settings of searches, and how they are told."""

from zabcheck.search.settings import SETTINGS, described


def test_each_setting_is_told_with_its_value() -> None:
    told = described()
    assert list(told) == list(SETTINGS.__struct_fields__)
    assert told["sizes"].endswith(": 3 (5 times), 5 (2 times), 2, 4, 7")
    assert told["weighted"].endswith(": 0.1")
    assert ", lead 5, overtake 0," in told["weights"]
    assert "counter_limit (1: 3 %, 2: 3 %, 3: 4 %), closing (never)" in told["switches"]
    assert "interrupted 0.3 abandoned 1 lags 1 (4 times)" in told["habits"]


def test_optional_settings_are_moves() -> None:
    assert {*SETTINGS.optional, *SETTINGS.seldom} < {*SETTINGS.weights}
