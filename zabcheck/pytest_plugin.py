"""The pytest plugin: shows zabcheck's report in place of a traceback, and at the end the files that were written.

Every run of pytest loads this, whether it has such a test or not: so nothing is imported here that pytest has not.
`-p no:zabcheck` switches it off; the tests work without it.
"""

from collections.abc import Generator
from typing import Any

import pytest

_WROTE = "zabcheck wrote"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--zabcheck-out`."""
    parser.getgroup("zabcheck").addoption(
        "--zabcheck-out",
        metavar="DIR",
        help="where zabcheck saves counterexamples (default: reports); `out` of machine_for wins",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the folder where a test of zabcheck saves, unless the test sets it itself, and how pytest runs that test."""
    case = getattr(item, "cls", None)
    if hasattr(case, "zabcheck_node"):
        case.zabcheck_node = item.config.cwd_relative_nodeid(item.nodeid)  # type: ignore[union-attr]  # it has the attribute, so it is there
    if case is not None and getattr(case, "zabcheck_out", "elsewhere") is None:
        case.zabcheck_out = item.config.getoption("--zabcheck-out")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show zabcheck's report in place of a traceback; the files written become properties, which xdist transports."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    shown = getattr(error, "zabcheck_report", None)
    if shown is not None and call.excinfo is not None:
        # Not as a plain text: pytest's summary would print all of it again where CI is set, and so would a worker.
        representation = call.excinfo.getrepr(style="native")
        representation.reprtraceback.reprentries[0].lines = [shown.rstrip("\n") + "\n"]
        if representation.reprcrash is not None:
            representation.reprcrash.message = shown.partition("\n")[0]
        report.longrepr = representation
        report.user_properties += [(_WROTE, file) for file in getattr(error, "zabcheck_files", ())]
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the files that were written, by test."""
    failed = terminalreporter.stats.get("failed", []) + terminalreporter.stats.get("error", [])
    wrote = [
        (each.nodeid, value)
        for each in failed
        for name, value in getattr(each, "user_properties", ())
        if name == _WROTE
    ]
    if wrote:
        terminalreporter.section("zabcheck")
    for test in dict.fromkeys(test for test, _ in wrote):
        terminalreporter.line(str(test))
        for file in [file for of, file in wrote if of == test]:
            terminalreporter.line(f"  wrote {file}")
