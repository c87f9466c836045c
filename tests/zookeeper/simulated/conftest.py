"""The command, for the tests here too."""

from tests.cli.conftest import zabcheck  # noqa: F401
