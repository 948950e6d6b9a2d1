# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the choice on simulated campaigns with known truth.

Four environments, 17 points in five cases, all pairs, judged by the code that reports. Sequential
designs have six to twenty blocks and are ended by the code that runs them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.plan.planner import sequential_design
from assay.schema.model import Blocks
from bench.rows import Bench, Row, mean, share, share_of
from bench.tests.simulated.campaigns import (
    CASE_OF_POINT,
    CASES,
    NAMES,
    POINTS,
    Noise,
    extended_run,
    judged,
    simulated_run,
)
from records.run.interims import Interim
from reports.analysis.cells import LEAST_DIFFERENCE
from reports.analysis.compare import Comparisons, Judgements, compare_environments
from reports.analysis.races import outcome
from reports.notation.labels import check_labels
from reports.statistics.descriptive import Matrix, interval_rank

Outcomes = Mapping[tuple[int, int], str]

NORMAL = "normal, s 2 %"
NOISES: dict[str, Noise] = {
    NORMAL: lambda rng, shape: rng.normal(0, 0.02, shape),
    "log-normal, s 15 %": lambda rng, shape: rng.normal(0, 0.15, shape),
    "heavy-tailed (t, 3 degrees)": lambda rng, shape: 0.02 * rng.standard_t(3, shape),
    "skewed (exponential), s 3 %": lambda rng, shape: rng.exponential(0.03, shape),
}
ALIKE = np.zeros(4)
MIXED = np.log([1, 1, 1.1, 1.5])
SLOW = np.log([1, 1, 1, 1.2])
RESOLVED = {"faster", "slower"}


def launches(rng: np.random.Generator, noise: Noise, truth: Matrix, blocks: int) -> Matrix:
    """ln of times: truth, a block's drift, what the points of one launch share, own noise."""
    shared = noise(rng, (4, CASES, blocks))[:, CASE_OF_POINT] / 2
    drift = 0.01 * rng.standard_normal((1, 1, blocks))
    return np.asarray(truth[:, None, None] + drift + shared + noise(rng, (4, POINTS, blocks)))


def cells_of(found: Comparisons) -> list[Any]:
    """All cells: overall, of groups, of points."""
    return [*found.overall, *found.groups, *found.points]


def standings(found: Comparisons) -> Sequence[Any]:
    """Places by the score; none without one."""
    return found.score.standings if found.score else ()


def wrong_words(found: Comparisons, truth: Matrix) -> bool:
    """True if any word, place or separation of the campaign is not true."""
    true = dict(zip(NAMES, truth.tolist(), strict=True))
    margin = float(np.log(LEAST_DIFFERENCE)) - 1e-9
    for cell in cells_of(found):
        lead = true[cell.reference] - true[cell.environment]
        if not {
            "faster": lead > margin,
            "slower": lead < -margin,
            "equivalent": abs(lead) < margin,
            "not slower": lead > -margin,
            "not faster": lead < margin,
        }.get(cell.word, True):
            return True
    for pair in found.score.pairs if found.score else ():
        lead = true[pair.second] - true[pair.first]
        if pair.separated and np.sign(lead) != np.sign(-np.log(pair.effect.ratio)):
            return True
    return False


def best_choice(found: Comparisons) -> str:
    """The environment that has the first place alone, or ""."""
    first = next(iter(standings(found)), None)
    return first.environment if first is not None and first.worst == 1 else ""


def errors_and_coverage(campaigns: int) -> Iterator[Row]:
    """Any wrong word of all questions of a campaign, and what the headline's interval covers."""
    plans = [(ALIKE, "all alike", n) for n in (6, 12, 20)]
    plans.append((MIXED, "two alike, +10 %, +50 %", 12))
    for truth, what, blocks in plans:
        for name, noise in NOISES.items():
            rng = np.random.default_rng([blocks, len(name), len(what)])
            found = [judged(launches(rng, noise, truth, blocks)) for _ in range(campaigns)]
            yield from words_and_bounds(f"{what}, {name}, n = {blocks}", found, truth)
            places = [item for one in found for item in standings(one) if item.interval]
            true = dict(zip(NAMES, np.exp(truth), strict=True))
            yield share_of(
                f"… the headline's interval covers (level {interval_rank(blocks, 0.95)[1]:.1%})",
                [one.interval[0] <= true[one.environment] <= one.interval[1] for one in places],
                least=0.95,
                alike=3,
            )


def words_and_bounds(what: str, found: Sequence[Comparisons], truth: Matrix) -> Iterator[Row]:
    """Any wrong word of campaigns, and whether all bounds hold."""
    wrong = [wrong_words(one, truth) for one in found]
    yield share_of(f"a wrong word or place: {what}", wrong, most=0.05)
    together = [bounds_hold(one, truth) for one in found]
    yield share_of("… all bounds hold together", together, least=0.95)


def bounds_hold(found: Comparisons, truth: Matrix) -> bool:
    """True if every bound of a cell has the true ratio inside."""
    true = dict(zip(NAMES, np.exp(truth).tolist(), strict=True))
    return all(
        cell.judgement.low <= true[cell.reference] / true[cell.environment] <= cell.judgement.high
        for cell in cells_of(found)
        if cell.judgement
    )


def survivors(campaigns: int) -> Iterator[Row]:
    """Environment b is 5 % faster where it ends well; a quarter hangs, or the slow third is killed.

    For the second, b's launches vary by 20 % about the others' time, so that the survivors alone
    are faster and all launches are not.
    """
    kinds: dict[str, Callable[[np.random.Generator], tuple[Matrix, Outcomes]]] = {
        "a quarter of b's launches hangs": _hanging,
        "b's slowest third is killed by the limit": _killed,
    }
    for what, make in kinds.items():
        rng = np.random.default_rng(len(what))
        found = [judged(*make(rng)) for _ in range(campaigns)]
        best = [best_choice(one) == "b" for one in found]
        yield share_of(f"{what}: b is the best choice", best, most=0.01)
        places = [{item.environment: item.best for item in standings(one)} for one in found]
        last = [one.get("b") == 4 for one in places]
        yield share_of("… b is ranked behind the others", last, least=0.95)
        ranked = [one.keys() >= {"a", "c", "d"} for one in places]
        yield share_of("… the others keep their places", ranked, least=0.95)
        lost = 0.05 if make is _killed else None  # a hanging b is faster where it ends well
        words = [{(cell.word, *_names(cell)) for cell in cells_of(one)} for one in found]
        faster = [
            any(one[:2] == ("faster", "b") or one[::2] == ("slower", "b") for one in cells)
            for cells in words
        ]
        yield share_of("… b is faster than one of them in any cell", faster, most=lost)


def _hanging(rng: np.random.Generator) -> tuple[Matrix, Outcomes]:
    logs = launches(rng, NOISES[NORMAL], np.log([1, 0.95, 1, 1]), 12)
    bad = {(CASES + case, block) for case in range(CASES) for block in range(12)}
    return logs, {place: "failed" for place in sorted(bad) if rng.random() < 0.25}


def _killed(rng: np.random.Generator) -> tuple[Matrix, Outcomes]:
    logs = launches(rng, NOISES[NORMAL], ALIKE, 12)
    own = rng.normal(0, 0.2, (CASES, 12))
    logs[1] += own[CASE_OF_POINT]
    slow = np.argwhere(own > np.quantile(own, 2 / 3)).tolist()
    return logs, {(CASES + case, block): "failed" for case, block in slow}


def power(campaigns: int) -> Iterator[Row]:
    """mpi-choice with one environment +20 % everywhere: its 39 message lengths against three."""
    for status in ("ok", "lost", "failed"):
        rng = np.random.default_rng(len(status))
        told = []
        for _ in range(campaigns):
            logs = launches(rng, NOISES[NORMAL], SLOW, 12)
            place = int(rng.integers(4)) * CASES + 2, int(rng.integers(12))
            found = judged(logs, {} if status == "ok" else {place: status})
            words = [c.word for c in found.points if c.check == "pt2pt" and "d" in _names(c)]
            told.append(len(words) == 39 and {*words} <= RESOLVED)
        what = f"+20 %, one launch of 240 {status}: all 39 points resolved"
        yield share_of(what, told, least=0.9)
    resolved = []
    for pick in range(campaigns // 2):
        seed = [pick, 5]
        before = judged(launches(np.random.default_rng(seed), NOISES[NORMAL], ALIKE, 12))
        ratios = [c.judgement.detectable for c in before.points if c.judgement]
        truth = np.array([0, 0, 0, float(np.log(np.median(ratios)))])
        after = judged(launches(np.random.default_rng([pick, 6]), NOISES[NORMAL], truth, 12))
        words = [c.word for c in after.points if "d" in _names(c)]
        resolved += [word in RESOLVED for word in words]
    what = "the smallest detectable difference, planted, is resolved (of a point)"
    yield share_of(what, resolved, least=0.77, alike=len(words))


def _names(cell: Any) -> tuple[str, str]:
    return cell.environment, cell.reference


def dependent_blocks(campaigns: int) -> Iterator[Row]:
    """AR(1) with 0.7 between blocks: a wrong separation is reported with a warning."""
    for correlation in (0.0, 0.7):
        rng = np.random.default_rng(7)
        told = []
        for _ in range(campaigns):
            noise = rng.normal(0, 0.03, (4, CASES, 12))
            for block in range(1, 12):
                noise[:, :, block] *= np.sqrt(1 - correlation**2)
                noise[:, :, block] += correlation * noise[:, :, block - 1]
            logs = noise[:, CASE_OF_POINT] + rng.normal(0, 0.005, (4, POINTS, 12))
            found = judged(logs)
            warns = found.dependence is not None and found.dependence.found
            told.append((warns, wrong_words(found, ALIKE)))
        what = f"AR(1) {correlation}: the summary warns that blocks are not independent"
        most, least = (None, 0.8) if correlation else (0.05, None)
        yield share_of(what, [warns for warns, _ in told], most=most, least=least)
        yield share_of("… a wrong word or place", [bad for _, bad in told], most=most)
        silent = [bad and not warns for warns, bad in told]
        yield share_of("… a wrong word or place without a warning", silent, most=0.05)


GREATEST = 20
#: The fixed design that launches are counted against.
FIXED = 12
#: Blocks of a run that is extended again and again.
EXTENDED = (6, 12, 18, 24)
BETTER = np.log([1, 1, 1, 1 / 1.1])


class CampaignEnd(NamedTuple):
    """A campaign at its end: what its report says, how many launches it took, over those of a
    block."""

    found: Comparisons
    cost: float


def campaign(logs: Matrix) -> CampaignEnd:
    """Run a simulated campaign block by block, each as the judgements before it ask for."""
    design = sequential_design(Blocks(least=6, greatest=logs.shape[2]))
    interims: list[Interim] = []
    judgements = Judgements(check_labels(simulated_run(logs, None, design).plan.cases))
    for block in design.interims:
        run = simulated_run(logs, None, design, interims)
        judgements.add(run, block)
        found = judgements.found()
        made = outcome(run, found)
        ended = made.ended(last=block == design.interims[-1])
        going = {} if ended else made.going
        interims.append(Interim(block=block, open=made.open, going=going, ended=ended))
        if ended:
            break
    return CampaignEnd(found, len(run.launches.places()) / (len(NAMES) * CASES))


def errors(campaigns: int) -> Iterator[Row]:
    """A wrong word, place or bound of any question of a campaign, when it has ended by itself."""
    for truth, what in ((ALIKE, "all alike"), (MIXED, "two alike, +10 %, +50 %")):
        for name, noise in NOISES.items():
            rng = np.random.default_rng([len(name), len(what), 20])
            ended = [campaign(launches(rng, noise, truth, GREATEST)) for _ in range(campaigns)]
            yield from words_and_bounds(f"{what}, {name}", [item.found for item in ended], truth)
            yield mean("… blocks run, of 20 at most", [item.cost for item in ended])


def saved(campaigns: int) -> Iterator[Row]:
    """Launches against designs of fixed blocks, which find the same; one library is 10 % better."""
    for name in (NORMAL, "skewed (exponential), s 3 %"):
        rng = np.random.default_rng([len(name), 3])
        costs, right, fixed = [], 0, 0
        for _ in range(campaigns):
            logs = launches(rng, NOISES[name], BETTER, GREATEST)
            ended = campaign(logs)
            costs.append(ended.cost)
            right += best_choice(ended.found) == "d"
            fixed += best_choice(judged(logs[:, :, :FIXED])) == "d"
        for blocks in (GREATEST, FIXED):
            yield mean(
                f"one library 10 % better, {name}: share of launches saved against {blocks} blocks",
                [1 - cost / blocks for cost in costs],
                least=0.333,
            )
        yield share("… it is the best choice", right, campaigns, least=0.95)
        yield share(f"… it is the best choice after {FIXED} blocks", fixed, campaigns)


def extended(campaigns: int) -> Iterator[Row]:
    """All alike, six blocks, and extended by six three times, or until any word is wrong."""
    for name, noise in NOISES.items():
        rng = np.random.default_rng([len(name), 28])
        wrong = hold = first = 0
        for _ in range(campaigns):
            logs = launches(rng, noise, ALIKE, EXTENDED[-1])
            first += wrong_words(judged(logs[:, :, : EXTENDED[0]]), ALIKE)
            runs = (extended_run(logs, EXTENDED[:ends]) for ends in range(2, len(EXTENDED) + 1))
            found = [compare_environments(run, check_labels(run.plan.cases)) for run in runs]
            wrong += any(wrong_words(one, ALIKE) for one in found)
            hold += all(bounds_hold(one, ALIKE) for one in found)
        what = f"all alike, extended three times, {name}"
        yield share(f"{what}: a wrong word in any of its reports", wrong, campaigns, most=0.05)
        yield share("… all bounds of all of them hold", hold, campaigns, least=0.95)
        yield share("… a wrong word of the report before", first, campaigns, most=0.05)


CHOICE = Bench(
    "Choice: campaigns shaped as `mpi-choice`",
    (6, 40, 400),
    (survivors, power, dependent_blocks, errors_and_coverage),
)
SEQUENTIAL = Bench(
    "Choice: blocks added until it is known", (4, 24, 400), (saved, extended, errors)
)
