"""What holds for every test: nothing leaves this machine, nothing is skipped, every test has a kind."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from hypothesis import settings

from tests import _kinds, _network, _silence

sys.addaudithook(_network.refuse_remote)

settings.register_profile("quick", max_examples=60, deadline=None)
settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


EMBEDDED_MODEL = ("providers/local/", "test_provider_local.py")
"""Where tests load the embedded model, which spins on every core: they run alone."""

EARS: list[_silence.Ear] = []
"""What listens to the turns of the running test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kinds FILE`: write how many tests of each kind passed, as JSON."""
    parser.addoption("--kinds", metavar="FILE", help="write the number of passed tests by kind")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name every test's kind; suites that need a program are selected with `-m needs`, never skipped."""
    _kinds.mark(items)
    for item in items:
        if any(place in item.nodeid for place in EMBEDDED_MODEL):
            item.add_marker("alone")
    if config.getoption("markexpr"):
        return
    needing = [item for item in items if item.get_closest_marker("needs")]
    if needing:
        config.hook.pytest_deselected(items=needing)
        items[:] = [item for item in items if not item.get_closest_marker("needs")]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A program that a suite needs and that is absent is a failure, not a skip."""
    for marker in item.iter_markers("needs"):
        missing = [name for name in marker.args if shutil.which(name) is None]
        if missing:
            pytest.fail(f"this suite needs {', '.join(missing)}, which this machine lacks", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Every turn of every test is listened to."""
    with _silence.listening() as ear:
        EARS.append(ear)
        try:
            return (yield)
        finally:
            EARS.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """A turn that ended in silence fails its test."""
    outcome = yield
    if silent := EARS[-1].take():
        pytest.fail("; ".join(silent), pytrace=False)
    return outcome


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the count; a skipped or expected failure is named."""
    passed = [r for r in terminalreporter.stats.get("passed", []) if isinstance(r, pytest.TestReport)]
    if not config.getoption("collectonly"):
        write_kinds(config, passed)
    for report in silent(terminalreporter):
        terminalreporter.write_line(f"NOT RUN {report.nodeid}: nothing may be skipped", red=True)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, object, object]:
    """A report may quote half a character from a test; workers send UTF-8, so it is written as an escape."""
    return escaped((yield))


def escaped(value: object) -> object:
    """Return plain data with lone surrogates written as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {name: escaped(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [escaped(inner) for inner in value]
    if isinstance(value, tuple):
        return tuple(escaped(inner) for inner in value)
    return value


def pytest_collection_finish(session: pytest.Session) -> None:
    """With ``--collect-only`` the kinds of the selected tests are written, without running them."""
    if session.config.getoption("collectonly"):
        write_kinds(session.config, session.items)


def write_kinds(config: pytest.Config, tests: Iterable[_kinds.Counted]) -> None:
    """Write the number of `tests` by kind to the file of ``--kinds``, if given."""
    target = config.getoption("--kinds")
    if target:
        Path(target).write_text(json.dumps(_kinds.count(tests), indent=1, sort_keys=True) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which a test did not really run has failed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if isinstance(reporter, pytest.TerminalReporter) and silent(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def silent(reporter: pytest.TerminalReporter) -> list[pytest.TestReport | pytest.CollectReport]:
    """List the tests that were skipped or expected to fail."""
    return [
        report
        for kind in ("skipped", "xfailed", "xpassed")
        for report in reporter.stats.get(kind, [])
        if isinstance(report, pytest.TestReport | pytest.CollectReport)
    ]
