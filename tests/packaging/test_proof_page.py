"""docs/proof.md shows what its command prints."""

import pytest

from docs.generators import proof


def test_only_seconds_may_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "shell", lambda _: "what  seconds  longest\nf.3.2  9.9  not choosable 9.9 s\n")
    shown = "```text\n$ zabcheck prove\nwhat  seconds  longest\nf.3.2  0.9  not choosable 0.9 s\n```\n"
    monkeypatch.setattr(proof, "read", lambda _: shown)
    assert proof.made() == {proof.PAGE: shown}
    monkeypatch.setattr(proof, "read", lambda _: shown.replace("longest", "longer"))
    assert "longest" in proof.made()[proof.PAGE]
