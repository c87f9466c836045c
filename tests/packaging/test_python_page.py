"""docs/python.md shows what its examples print, and names all that the package has."""

import zabcheck
from docs.generators.output import read
from docs.generators.python import PAGE


def test_the_page_names_all_that_the_package_has() -> None:
    assert [name for name in dir(zabcheck) if f"`zabcheck.{name}`" not in read(PAGE)] == []
