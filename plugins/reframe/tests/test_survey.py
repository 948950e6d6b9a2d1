# SPDX-License-Identifier: Apache-2.0
"""A survey of simulated launches: limits that no more of them miss than said, drifts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter  # type: ignore[import-untyped]

from bench.tests.simulated.reframe_logs import write_logs
from plugins.reframe.command import import_files, surveys_of
from plugins.reframe.export import references
from plugins.reframe.imported import CAMPAIGN
from plugins.reframe.survey import ONE_IN, Survey
from records.history.store import Store
from reports.statistics.descriptive import Matrix
from reports.verdicts.nightly.judge import check_history

pytestmark = pytest.mark.numerical

Noise = Callable[[np.random.Generator, tuple[int, ...]], Matrix]
HEAD = "result|job_completion_time|system|partition|environ|name|jobid"
FIGURE = "|t_value|t_unit|t_ref|t_lower_thres|t_upper_thres"


def second_mode(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    return 0.01 * rng.standard_normal(shape) + 0.08 * (rng.random(shape) < 0.25)


def autoregressive(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    burnt = rng.standard_normal((*shape[:-1], shape[-1] + 50))
    found: Matrix = lfilter([0.02 * 0.51**0.5], [1, -0.7], burnt, axis=-1)[..., 50:]
    return found


NOISES: dict[str, Noise] = {
    "normal": lambda rng, shape: 0.02 * rng.standard_normal(shape),
    "a quarter slower by 8 %": second_mode,
    "exponential": lambda rng, shape: 0.03 * rng.exponential(size=shape),
    "t(2.5)": lambda rng, shape: np.maximum(0.015 * rng.standard_t(2.5, shape), -0.5),
    "AR(1) 0.7": autoregressive,
}


def surveyed(folder: Path, times: Matrix, repeats: int, upper: float = 0.5) -> Survey:
    """The survey of times, shape (tests, launches), so many a night, with the reference 1 s."""
    lines = [HEAD + FIGURE]
    for test, row in enumerate(times.tolist()):
        for job, value in enumerate(row):
            at = np.datetime64("2026-01-01T01:00:00") + np.timedelta64(job // repeats, "D")
            place = f"pass|{at + job % repeats}|daint|mc|gnu|T{test}|{job}"
            lines.append(f"{place}|{value!r}|s|1.0|None|{upper}")
    (folder / "T.log").write_text("\n".join(lines) + "\n")
    import_files(folder / "h.sqlite", [folder / "T.log"], "UTC")
    (found,) = surveys_of(folder / "h.sqlite", None, None)
    return found


def proposed(found: Survey) -> dict[int, float]:
    """The greatest time that the proposed reference of each test allows."""
    told = references([found])
    places = {int(name[1:]): of["gnu"]["daint:mc"]["t"] for name, of in told.items()}
    return {test: value * (1 + upper) for test, (value, _, upper, _) in places.items()}


def misses(folder: Path, noise: Noise, tests: int, n: int) -> tuple[float, float, float]:
    """Of proposed limits: the greatest share of a series' own launches beyond one, the mean share
    of fresh launches beyond, and the median limit over the true one."""
    rng = np.random.default_rng(7)
    times, fresh = 1 + noise(rng, (tests, n)), 1 + noise(rng, (tests, 4000))
    found = surveyed(folder, times, 3)
    # A change that is none leaves the launches since it; autocorrelated ones have some.
    changed = (found.history.series[one.series].check for one in found.history.changes)
    steady = {*range(tests)} - {int(name[1:]) for name in changed}
    assert len(steady) > 0.7 * tests
    limits, kept = proposed(found), sorted(steady)
    times, fresh = times[kept], fresh[kept]
    most = np.array([limits[test] for test in kept])[:, np.newaxis]
    true = float(np.quantile(fresh, 1 - 1 / ONE_IN))
    own, later = (times > most).mean(axis=1), (fresh > most).mean(axis=1)
    return float(own.max()), float(later.mean()), float(np.median(most - 1)) / (true - 1)


@pytest.mark.parametrize("name", NOISES)
def test_a_limit_is_missed_by_no_more_launches_than_it_says(tmp_path: Path, name: str) -> None:
    assert misses(tmp_path, NOISES[name], 5, 180)[0] <= 1 / ONE_IN


@pytest.mark.full
@pytest.mark.parametrize("n", [102, 180, 600])
@pytest.mark.parametrize("name", NOISES)
def test_later_launches_miss_no_limit_too_often(tmp_path: Path, name: str, n: int) -> None:
    own, later, width = misses(tmp_path, NOISES[name], 200, n)
    assert own <= 1 / ONE_IN
    assert later <= 1.1 / ONE_IN
    assert width < 2.5


def test_few_launches_support_no_limit_and_what_they_miss_is_still_said(tmp_path: Path) -> None:
    times = 1 + NOISES["a quarter slower by 8 %"](np.random.default_rng(1), (3, 40))
    found = surveyed(tmp_path, times, 2, upper=0.04)
    assert proposed(found) == {}
    assert {(one.advice, one.supported) for one in found.references} == {("too tight", None)}


def test_a_reference_that_no_launch_contradicts_is_not_too_loose(tmp_path: Path) -> None:
    """A reference that covers the second mode, and one that covers a single slow launch."""
    rng = np.random.default_rng(2)
    times = 1 + second_mode(rng, (2, 300))
    times[1] = 1 + 0.005 * rng.standard_normal(300)
    times[1, 100] = 1.11
    found = surveyed(tmp_path, times, 3, upper=0.12)
    assert [one.advice for one in found.references] == ["fits", "fits"]
    assert found.references[1].missed == 0


def test_launches_on_a_slow_node_make_no_limit(tmp_path: Path) -> None:
    import_files(tmp_path / "h.sqlite", [write_logs(tmp_path / "logs", 4, 60, 3)], "UTC")
    (found,) = surveys_of(tmp_path / "h.sqlite", None, None)
    limits = [of["gnu"]["daint:mc"]["triad"][1] for of in references([found]).values()]
    assert limits and all(-0.05 < one <= -0.03 for one in limits)


def test_a_slow_drift_is_named_as_the_nightly_check_names_it(tmp_path: Path) -> None:
    """0.1 % a night, 5.9 % in all, which no window of nights shows; its reference is not judged."""
    times = 1 + 0.008 * np.random.default_rng(3).standard_normal((12, 180))
    times += 0.001 * (np.arange(180) // 3)
    found = surveyed(tmp_path, times, 3, upper=0.05)
    with Store(tmp_path / "h.sqlite") as store:
        checked = check_history(store, "daint", CAMPAIGN)
    named, judged = (
        sorted((one.series, one.kind, one.stage, one.since) for one in history.changes)
        for history in (found.history, checked.history)
    )
    assert named == judged
    assert {row for row, kind, *_ in named if kind == "regression"} == {*range(12)}
    assert not found.of("too tight", "missed")


@pytest.mark.full
@pytest.mark.parametrize("nights", [60, 120])
@pytest.mark.parametrize("name", [one for one in NOISES if "AR" not in one])
def test_what_does_not_change_has_no_change(tmp_path: Path, name: str, nights: int) -> None:
    times = 1 + NOISES[name](np.random.default_rng(4), (200, 3 * nights))
    changes = surveyed(tmp_path, times, 3).history.changes
    assert len(changes) <= 2, [one.stage for one in changes]
