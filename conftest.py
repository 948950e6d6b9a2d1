# SPDX-License-Identifier: Apache-2.0
"""Tiers, order and durations of all tests, and their isolation from the caller.

A test marked `full` belongs to `make test-all`, one marked `cluster` and not `full` to
`make test-cluster`, every other one to `make test`. Of the cases of a test marked `full(sample=N)`,
N that are evenly spread are not full.
"""

import csv
import fcntl
import os
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Properties are held to no time, and each run of the tests draws the same examples.
settings.register_profile("assay", deadline=None, derandomize=True)
settings.load_profile("assay")

#: Variables that make, pytest and a CI set for their children, which change how programs behave.
_OF_CALLERS = re.compile(r"MAKE.*|MFLAGS|PYTEST_.*|CI")
ROOT = Path(__file__).parent
pytest_plugins = ["assay.tests.fixtures"]
#: The command that runs the tests of each tier.
COMMANDS = {"fast": "make test", "cluster": "make test-cluster", "full": "make test-all"}
#: Tests of other tiers, by tier; seconds of each phase of a test, by tier and test.
_OTHERS: Counter[str] = Counter()
_SECONDS: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a tier and of a share of it."""
    group = parser.getgroup("tiers")
    group.addoption("--tier", choices=[*COMMANDS, "all"], help="run the tests of this tier")
    group.addoption("--share", help="K/N: run the K-th of N shares of them, about equally long")


def pytest_configure(config: pytest.Config) -> None:
    """SIGTERM ends the tests as SIGINT does, in workers too: what fixtures set up is taken down."""
    ended = iter([KeyboardInterrupt("SIGTERM")])
    distributes = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    children = Path(f"/proc/self/task/{os.getpid()}/children")

    def end(_number: int, _frame: object) -> None:
        for interrupt in ended:
            # xdist interrupts its workers again while they tidy up.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for child in children.read_text().split() if distributes else ():
                os.kill(int(child), signal.SIGTERM)
            raise interrupt

    signal.signal(signal.SIGTERM, end)


def tiers(items: list[pytest.Item]) -> dict[pytest.Item, str]:
    """The tier of each test: fast, cluster or full."""
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[", maxsplit=1)[0]].append(item)
    found = {}
    for alike in cases.values():
        for number, item in enumerate(alike):
            full = item.get_closest_marker("full")
            sample = full.kwargs.get("sample", 0) if full else len(alike)
            spread = number * sample // len(alike) != (number - 1) * sample // len(alike)
            other = "cluster" if item.get_closest_marker("cluster") else "fast"
            found[item] = other if spread else "full"
    return found


def scope(nodeid: str) -> str:
    """The module or class of a test, whose tests run in order in one worker."""
    return nodeid.split("[", maxsplit=1)[0].rpartition("::")[0]


def kept_seconds(chosen: str) -> Mapping[str, float]:
    """Seconds of each module or class in a tier, or in all, when durations were last kept."""
    kept: defaultdict[str, float] = defaultdict(float)
    with (ROOT / "docs/durations.csv").open() as file:
        for row in csv.DictReader(file):
            if chosen in (row["tier"], "all"):
                kept[row["scope"]] += float(row["seconds"])
    return kept


def of_share(scopes: list[str], seconds: Mapping[str, float], share: str) -> set[str]:
    """The modules and classes of a share `K/N`; each goes to the share that is shortest by then."""
    number, _, shares = share.partition("/")
    filled = [0.0] * int(shares)
    dealt: list[set[str]] = [set() for _ in filled]
    for one in sorted(scopes, key=lambda one: (-seconds[one], one)):
        shortest = filled.index(min(filled))
        filled[shortest] += seconds[one]
        dealt[shortest].add(one)
    return dealt[int(number) - 1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the tier; the longest modules begin first."""
    of = tiers(items)
    for item in items:
        item.user_properties.append(("tier", of[item]))
    chosen = config.getoption("tier")
    seconds = kept_seconds(chosen or "all")
    if chosen in COMMANDS:
        _OTHERS.update(one for one in of.values() if one != chosen)
        left = [item for item in items if of[item] == chosen]
        if share := config.getoption("share"):
            mine = of_share(sorted({scope(item.nodeid) for item in left}), seconds, share)
            left = [item for item in left if scope(item.nodeid) in mine]
        config.hook.pytest_deselected(items=sorted({*items} - {*left}, key=str))
        items[:] = left
    items.sort(key=lambda item: -seconds[scope(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of tests of other tiers from a worker; each worker has the same."""
    _OTHERS.update(getattr(node, "workeroutput", {}).get("others", {}) if not _OTHERS else {})


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked `plugins(NAME, …)` where such a folder of `plugins/` was deleted."""
    for mark in item.iter_markers("plugins"):
        if lacking := [name for name in mark.args if not (ROOT / "plugins" / name).is_dir()]:
            pytest.skip(f"uses checks or campaigns of plugins/{lacking[0]}, which is not here")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the duration of a phase of a test."""
    tier = str(dict(report.user_properties)["tier"])
    _SECONDS[tier, report.nodeid][report.when] = report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its counts on; the one that distributes writes durations, slowest first."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["others"] = dict(_OTHERS)
        return
    chosen, part = config.getoption("tier"), config.getoption("share")
    whole = chosen and not part and config.args_source is not pytest.Config.ArgsSource.ARGS
    if whole and _SECONDS:
        with suppress(PermissionError):
            write_durations(ROOT / f"build/durations-{chosen}.csv")


def write_durations(path: Path) -> None:
    """Write the durations of all tests, slowest first."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["seconds", "call_s", "tier", "scope", "test"])
        for (tier, test), phases in sorted(_SECONDS.items(), key=lambda one: -sum(one[1].values())):
            times = f"{sum(phases.values()):.2f}", f"{phases.get('call', 0.0):.2f}"
            rows.writerow([*times, tier, scope(test), test])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Tell at last what passed, and by which commands the tests of other tiers run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if _OTHERS and reporter and not hasattr(config, "workerinput"):
        passed, skipped = (len(reporter.stats.get(one, ())) for one in ("passed", "skipped"))
        others = [f"{_OTHERS[one]} run by {COMMANDS[one]}" for one in COMMANDS if _OTHERS[one]]
        told = [f"{passed} passed", *([f"{skipped} skipped (reasons above)"] if skipped else [])]
        reporter.write_line(f"{', '.join(told)}; of other tiers {', '.join(others)}")


def _forget_callers() -> None:
    for name in filter(_OF_CALLERS.fullmatch, [*os.environ]):
        del os.environ[name]


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    """Hide the caller's variables from a fixture; pytest sets one of them again before each."""
    _forget_callers()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call() -> None:
    """Hide the caller's variables from a test."""
    _forget_callers()


@pytest.fixture
def vets_alone() -> Iterator[None]:
    """No other test with this fixture runs on this host, in this clone or another: a second vetting
    of a host is refused meanwhile.
    """
    lock = os.open("/", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield
    os.close(lock)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than cores: a test of a cluster waits half of its time."""
    return len(os.sched_getaffinity(0)) + 1
