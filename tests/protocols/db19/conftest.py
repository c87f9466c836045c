"""Fixtures for the tests of db-19."""

from tests.cli.conftest import zabcheck

__all__ = ["zabcheck"]
