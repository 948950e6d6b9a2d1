# SPDX-License-Identifier: Apache-2.0
"""The judgement of an acceptance: all criteria, the nodes and links named, waivers, re-runs; and
the dossier, the judgement with all it rests on, and its form, which is sealed.

The same run, re-runs, criteria file and day give the same bytes of acceptance.json; their SHA-256
is the seal that is printed on every page of the document.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median_low
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import UNSET, UnsetType, field
from msgspec.structs import asdict, replace

from records.criteria import Criteria, Criterion, EfficiencyCriterion, Waiver
from records.errors import AssayError
from records.flags import DISTURBED, UNPROVEN
from records.forms import Form, Part, as_text, key
from records.plugins import hooks
from records.run import rerun
from records.run.chain import manifest, sums_text
from records.site.pair_scans import Indices, positions_of
from records.text.plain_text import natural
from reports import judgement as forms
from reports.answers import AnswerPart
from reports.judgement import Finding, Item, JudgedCriterion, Judgement, verdict_of
from reports.load.loading import Run, load_run
from reports.statistics.bounds import HEAVY_TAILED, decide, worst
from reports.statistics.descriptive import LEAST_BLOCKS, serial_dependence, widening
from reports.verdicts.acceptance import limits, peers
from reports.verdicts.acceptance.limits import Context
from reports.verdicts.acceptance.values import CriterionEvidence, gather

_COVERAGE = "nodes-measured"
#: Good pairs that are measured again with undecided ones: as many as those, and these at least.
LEAST_GOOD = 20
#: A node's link is measured again over so many of its pairs, at most.
SAMPLED_PAIRS = 50
#: Where more of all pairs would be run, the whole case is.
MOST_SHARE = 0.5
#: For each case to run again the pairs that are enough, "n1:n2"; none: as planned.
Wanted = dict[str, tuple[str, ...]]
_ORDER: tuple[forms.Subject, ...] = ("group", "node", "cut", "link", "pair", "unsteady", "missing")
_JUDGES: Mapping[str, Callable[[Any, Context], JudgedCriterion]] = {
    "limit": limits.judge_limit,
    "ratio": limits.judge_ratio,
    "spread": peers.judge_spread,
    "efficiency": limits.judge_efficiency,
    "nodes": peers.judge_nodes,
    "links": peers.judge_links,
}


def judge(
    criteria: Criteria, evidence: CriterionEvidence, day: date, rerun_count: int
) -> Judgement:
    """Every verdict of an acceptance on the day it is judged; pure, so it can be done again.

    Limits from the machine itself cannot detect a fault common to all nodes: without an absolute
    limit that something keeps to, nothing passes, nor does one machine alone. Launches that are
    unproven count only where the criteria accept them, those that other programs disturbed never.
    """
    unproven = [] if criteria.unproven == "accept" else [UNPROVEN]
    evidence = evidence.without([DISTURBED, *unproven])
    criteria = criteria.with_mixes_of(evidence.mix_blocks)
    context = Context(criteria, evidence)
    valid = [w for w in criteria.waivers if date.fromisoformat(w.expires) >= day]
    results, left_out = [_with_waivers(limits.judge_answers(context), valid)], []
    if evidence.unmeasured:
        results.append(_coverage(evidence.unmeasured, valid))
    for criterion in criteria.criteria:
        result = _widened(judge_of(criterion)(criterion, context))
        optional = isinstance(criterion, EfficiencyCriterion) and not criterion.required
        if optional and result.lacks_rate:
            left_out.append(forms.LeftOut(result.id, result.note))
        else:
            results.append(_with_waivers(result, valid))
    absolute = any(result.binds for result in results)
    verdict = worst([result.effective for result in results])
    findings = _findings(results)
    again = cases_to_rerun(results, evidence) if rerun_count < criteria.reruns_at_most else {}
    return Judgement(
        verdict=verdict if absolute and not evidence.is_local else worst([verdict, "INCONCLUSIVE"]),
        titles=tuple(finding.title for finding in findings if finding.named),
        criteria=tuple(results),
        findings=tuple(findings),
        waivers=tuple(_waiver_states(criteria.waivers, valid, results)),
        rerun_wanted=tuple(again),
        rerun_pairs={case: pairs for case, pairs in again.items() if pairs},
        left_out=tuple(left_out),
        absolute=absolute,
    )


def judge_of(criterion: Criterion) -> Callable[[Any, Context], JudgedCriterion]:
    """Judge of a criterion's kind, of the core or of a plugin. Raises AssayError without one."""
    for judges in (_JUDGES, *hooks("criterion_judges")):
        if criterion.kind in judges:
            matching: Callable[[Any, Context], JudgedCriterion] = judges[criterion.kind]
            return matching
    raise AssayError(f"criterion {criterion.id}: no plugin judges kind: {criterion.kind}")


def _widened(result: JudgedCriterion) -> JudgedCriterion:
    """The criterion with bounds as wide as the correlation of neighbouring launches asks for: a
    PASS that they do not bear out is open, and so is the FAIL of a value. What re-runs cleared is
    open where the launches are found to be dependent."""
    known = [item.shares for item in result.items if item.method != HEAVY_TAILED]
    # Re-runs of some are chosen by what these were before: as many launches as the others have.
    if not known or (n := median_low(map(len, known))) < LEAST_BLOCKS:
        return result
    rows = [np.log(shares[:n]) for shares in known if len(shares) >= n and min(shares) > 0]
    if not rows:
        return result
    dependence = serial_dependence(rows)
    wider = float(widening(dependence.correlation, dependence.n))
    if wider == 1:
        return result
    alike = (
        f"bounds are {wider:.1f} times as wide: neighbouring launches are alike (lag-1 correlation"
        f" {dependence.correlation:.2f})"
    )
    note = f"{alike}; space them out, or repeat more often"
    items = tuple(_reopened(item, wider, note, dependence.found) for item in result.items)
    verdict, statement = verdict_of(items), result.statement
    if dependence.found:
        statement = f"{statement}; {alike}"
    return replace(result, items=items, verdict=verdict, effective=verdict, statement=statement)


def _reopened(item: Item, wider: float, note: str, dependent: bool) -> Item:
    """The item with wider bounds; open where they do not bear its verdict out."""
    if item.low is None or item.high is None or item.method == "pooled":  # has them already
        return item
    low, high = (item.centre + wider * (end - item.centre) for end in (item.low, item.high))
    after = replace(item, low=low, high=high)
    ends = item.at_least, item.at_most
    before, now = (decide(bounds, *ends, item.n)[0] for bounds in (item, after))
    judged_by_them = item.verdict == "PASS" or (item.verdict == "FAIL" and item.about == "value")
    if judged_by_them and now != item.verdict and (dependent or before == item.verdict):
        return replace(after, verdict="INCONCLUSIVE", note=note)
    return after


def _coverage(unmeasured: Sequence[str], valid: Sequence[Waiver]) -> JudgedCriterion:
    """The criterion that is there where nodes of the partition were not measured: undecided, with
    an item for each of them, which a waiver may name."""
    items = tuple(
        Item(
            *(0, 0.0, None, None, 1.0, "none"),
            subject=node,
            environment="",
            place=(node,),
            about="missing",
            decidable=False,
        )
        for node in unmeasured
    )
    result = JudgedCriterion(
        id=_COVERAGE,
        kind=_COVERAGE,
        title="Every node of the partition was measured",
        statement="values of every node that the partition has, in service or not",
        items=items,
        verdict="INCONCLUSIVE",
        effective="INCONCLUSIVE",
    )
    result = _with_waivers(result, valid)
    still = [item.subject for item in result.items if not item.waived]
    note = f"not measured: {forms.listed_nodes(still or unmeasured)}"
    return replace(result, note=note if still else f"{note}, waived")


def _findings(results: Sequence[JudgedCriterion]) -> list[Finding]:
    """All findings: what is named first, then what re-runs cleared; nodes before links."""
    against: dict[tuple[forms.Subject, str], list[forms.Accusation]] = {}
    for result in results:
        for item in result.items:
            if item.state is not None:
                name = item.subject
                if item.about in ("unsteady", "missing") or not item.place:
                    what = f"{item.metric.replace('_', ' ')}, {item.environment}"
                    name = f"{name} ({what})" if item.metric else result.id
                accusation = forms.Accusation(**asdict(item), criterion=result.id)
                against.setdefault((item.about, name), []).append(accusation)
    found = [_finding(kind, name, items) for (kind, name), items in against.items()]
    return sorted(found, key=lambda one: (not one.named, _ORDER.index(one.kind), natural(one.name)))


def _finding(kind: forms.Subject, name: str, items: Sequence[forms.Accusation]) -> Finding:
    """Finding of these items; confirmed or suspected if any of them is."""
    order: tuple[forms.State, ...] = ("confirmed", "suspected", "missing", "not confirmed")
    states = {item.state for item in items}
    return Finding(
        kind=kind,
        name=name,
        nodes=items[0].place,
        state=next(state for state in order if state in states),
        criteria=tuple(sorted({item.criterion for item in items})),
        accusations=tuple(items),
    )


def _with_waivers(criterion: JudgedCriterion, waivers: Sequence[Waiver]) -> JudgedCriterion:
    """The criterion with the items marked that one of these (valid) waivers covers."""
    mine = [waiver for waiver in waivers if waiver.criterion == criterion.id]
    if not mine:
        return criterion
    items = tuple(
        replace(item, waived=item.verdict != "PASS" and any(_covers(w, item) for w in mine))
        for item in criterion.items
    )
    return replace(criterion, items=items, effective=verdict_of(items, waived=False))


def _covers(waiver: Waiver, item: Item) -> bool:
    """True where a waiver's subject is the item: its node, one of its pair's nodes, or its pair.

    A subject of more nodes is covered by its own name only.
    """
    if waiver.subject is None:
        return True
    if item.about in ("group", "cut"):
        return waiver.subject == item.subject
    pair = {"-".join(item.place), "-".join(reversed(item.place))} if len(item.place) == 2 else set()
    return waiver.subject in {item.subject, *item.place, *pair}


def _waiver_states(
    waivers: Sequence[Waiver], valid: Sequence[Waiver], results: Sequence[JudgedCriterion]
) -> Iterator[forms.JudgedWaiver]:
    for waiver in waivers:
        covered = (
            item.verdict != "PASS" and _covers(waiver, item)
            for result in results
            if result.id == waiver.criterion
            for item in result.items
        )
        used: Literal["applied", "not needed"] = "applied" if any(covered) else "not needed"
        state = used if waiver in valid else "expired"
        yield forms.JudgedWaiver(**waiver.model_dump(), state=state)


def cases_to_rerun(results: Sequence[JudgedCriterion], evidence: CriterionEvidence) -> Wanted:
    """Cases to run once more: suspects, and until it fails what is undecided; of a mix all, for a
    job by itself is another load."""
    items: dict[str, list[Item]] = {}
    for item in _undecided(results):
        for case_id in dict.fromkeys(case_id for case_id, _ in item.launches):
            items.setdefault(case_id, []).append(item)
    if items and evidence.mix_blocks:
        return {case.id: () for case in evidence.planned if case.skipped is None}
    cases = (case for case in evidence.planned if case.id in items)
    scans = rerun.CHECKS_OF_PAIRS
    return {c.id: _pairs(items[c.id], evidence, c.id) if c.check in scans else () for c in cases}


def _undecided(results: Sequence[JudgedCriterion]) -> Iterator[Item]:
    counted = [(r, item) for r in results for item in r.items if not item.waived]
    failed = any(item.verdict == "FAIL" and item.state != "suspected" for _, item in counted)
    for result, item in counted:
        suspected = item.state == "suspected" or item.verdict == "SUSPECT"
        undecided = item.verdict == "INCONCLUSIVE" and (item.state is not None or not failed)
        if result.kind != "answers" and (suspected or undecided) and item.decidable:
            yield item


def _pairs(items: Sequence[Item], evidence: CriterionEvidence, case_id: str) -> tuple[str, ...]:
    """The pairs that the items are about, and as many good ones; none: the whole case."""
    names, node, peer = evidence.pairs_of(case_id)
    number = {name: index for index, name in enumerate(names)}
    links = {number.get(item.place[0], -1) for item in items if item.about == "link"}
    others = [item for item in items if item.about != "link"]
    if any(len(item.place) != 2 or item.about == "cut" for item in others):
        return ()
    ends = [(item, sorted(number.get(name, -1) for name in item.place)) for item in others]
    pairs = [p for item, p in ends if p[0] >= 0 and not (item.charged_to and links & {*p})]
    low, high = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    codes = positions_of(np.minimum(node, peer), np.maximum(node, peer), len(names))
    asked = np.isin(codes, positions_of(low, high, len(names)))
    good = ~asked
    for link in links:
        mine = np.flatnonzero((node == link) | (peer == link))
        good[mine] = False
        asked[mine[_spread(len(mine), SAMPLED_PAIRS)]] = True
    beside = np.flatnonzero(good)
    beside = beside[_spread(len(beside), max(LEAST_GOOD, int(asked.sum())))]
    rows = np.sort(np.concatenate([np.flatnonzero(asked), beside]))
    chosen = tuple(f"{names[node[row]]}:{names[peer[row]]}" for row in rows)
    few = len(rows) <= min(rerun.MOST_PAIRS, MOST_SHARE * len(codes))
    return chosen if few and rerun.argument_bytes(chosen) <= rerun.MOST_BYTES_OF_PAIRS else ()


def _spread(count: int, most: int) -> Indices:
    """Numbers of `most` evenly spread ones of so many; of fewer all."""
    most = min(count, most)
    return np.arange(most) * count // max(most, 1)


FOLDER = "acceptance"


class ChainPart(Part):
    """The records of a run."""

    run_id: Annotated[str, key("The run.")]
    records: Annotated[int, key("Number of records.")]
    without_chain: Annotated[int, key("Number of them that carry no chain (schema 1).")]
    head: Annotated[str, key("The hash in which all of them end.")]


class CriteriaPart(Part):
    """The criteria of a judgement."""

    name: Annotated[str, key("The criteria.")]
    sha256: Annotated[str, key("The checksum of the file.")]


class AcceptanceForm(Judgement, kw_only=True):
    """`assay accept`, and acceptance.json: a judgement with all it rests on; this is sealed."""

    kind: Annotated[Literal["assay-acceptance"], key("Kind of the form.")] = "assay-acceptance"
    judged_on: Annotated[str, key("The day.")]
    made_with: Annotated[str, key("The version of the judging.")]
    campaign: Annotated[str, key("The campaign.")]
    site: Annotated[str, key("The site.")]
    run_id: Annotated[str, key("The run.")]
    reruns: Annotated[list[str], key("Runs that repeated cases of it.")]
    records: Annotated[list[ChainPart], key("The records of the run and of each re-run.")]
    criteria_file: Annotated[CriteriaPart, key("The criteria.")] = field(name="criteria")
    manifest_sha256: Annotated[str, key("The checksum of manifest.sha256, the list of all files.")]
    files: Annotated[dict[str, str], key("Checksums of the files.")]
    answer: Annotated[
        AnswerPart | UnsetType,
        key("The answer, on standard output; the sealed file does not have it."),
    ] = UNSET


class VerifiedPart(Part):
    """Comparison of a verification."""

    what: Annotated[str, key("Title of the comparison.")]
    faults: Annotated[list[str], key("Differences.")]
    note: Annotated[str, key("A remark.")]
    unproven: Annotated[bool, key("True if it could not be verified.")]


class VerifyForm(Form, kw_only=True):
    """`assay verify`: checksums and verdicts recomputed."""

    result: Annotated[str, key("The result in words.")]
    verified: Annotated[bool, key("True if all holds, against a seal on paper.")]
    run: Annotated[str, key("The run directory.")]
    checks: Annotated[list[VerifiedPart], key("Comparisons that were made.")]


@dataclass(frozen=True)
class Dossier:
    """Everything a document shows; `content` are the bytes of the form, which are sealed."""

    run: Run
    reruns: tuple[Run, ...]
    criteria: Criteria
    evidence: CriterionEvidence
    judgement: Judgement
    day: date
    form: AcceptanceForm
    content: bytes

    @property
    def seal(self) -> str:
        """The SHA-256 of the content."""
        return _sha256(self.content)


def make_dossier(
    run_dir: Path,
    rerun_dirs: Sequence[Path],
    *,
    criteria: Criteria,
    criteria_text: str,
    day: date,
    made_with: str,
) -> Dossier:
    """Judge a run and its re-runs. Raises AssayError for records that cannot be read."""
    run = load_run(run_dir)
    reruns = tuple(_rerun(path, run) for path in rerun_dirs)
    evidence = gather(run, reruns)
    judgement = judge(criteria, evidence, day, len(reruns))
    sums = manifest(run_dir, rerun_dirs)
    form = AcceptanceForm(
        judged_on=day.isoformat(),
        made_with=made_with,
        campaign=run.plan.campaign,
        site=run.plan.site,
        run_id=run.run_id,
        reruns=[part.run_id for part in reruns],
        records=[
            ChainPart.filled(part.chain, run_id=part.run_id, without_chain=0)
            for part in (run, *reruns)
        ],
        criteria_file=CriteriaPart(criteria.name, _sha256(criteria_text.encode())),
        manifest_sha256=_sha256(sums_text(sums).encode()),
        files=sums,
        **judged_keys(judgement, evidence),
    )
    return Dossier(run, reruns, criteria, evidence, judgement, day, form, as_text(form).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _rerun(path: Path, run: Run) -> Run:
    """A re-run of cases of the run, on the same site."""
    again = load_run(path)
    known = rerun.rerun_ids(run.plan, again.plan)
    foreign = [case.id for case in again.plan.cases if case.id not in known]
    if foreign:
        raise AssayError(
            f"{path}: is no re-run of {run.directory}: its case {foreign[0]} is not in that run."
            " A re-run is a run of the campaign file that `assay accept` wrote."
        )
    if again.plan.site != run.plan.site:
        raise AssayError(
            f"{path}: was run on site {again.plan.site}, the run to be judged on {run.plan.site}"
        )
    if again.run_id == run.run_id:
        raise AssayError(f"{path}: is the run itself, not a re-run")
    return again


def judged_keys(judgement: Judgement, evidence: CriterionEvidence) -> dict[str, Any]:
    """The keys of acceptance.json that come from the judgement. Items share lists of launches, so
    each list is there once, in `launches` of its criterion."""
    places: dict[str, dict[Any, int]] = {}
    criteria: list[JudgedCriterion] = []
    for result in judgement.criteria:
        keys = dict.fromkeys(item.launches for item in result.items)
        place = places[result.id] = {launches: number for number, launches in enumerate(keys)}
        items = tuple(replace(item, launches=place[item.launches]) for item in result.items)
        raw = tuple(tuple(map(evidence.raw_output, launches)) for launches in keys)
        criteria.append(replace(result, items=items, launches=raw))
    findings = [
        replace(
            finding,
            accusations=tuple(
                replace(item, launches=places[item.criterion][item.launches])
                for item in finding.accusations
            ),
        )
        for finding in judgement.findings
    ]
    return asdict(judgement) | {"criteria": tuple(criteria), "findings": tuple(findings)}


#: Keys of items and criteria since schema 4, and those of an accusation before.
_NEW = frozenset({"place", "shares", "decidable", "charged_to", "lacks_rate"})
_ACCUSED = frozenset(
    {"criterion", "environment", "subject", "point"}
    | {"n", "median", "low", "high", "level", "bound"}
)


#: Keys since schema 3, which are left out where they are empty.
_LATER = frozenset({"further_explained", "rerun_pairs"})


def as_of(schema: object, form: dict[str, Any]) -> dict[str, Any]:
    """A form of today as one of an earlier schema has it, to be compared with what was sealed."""
    if not isinstance(schema, int) or schema >= form["schema"]:
        return form
    results = [
        _old(result) | {"items": [*map(_old, result["items"])]} for result in form["results"]
    ]
    findings = []
    for finding in form["findings"]:
        accused = [{name: item[name] for name in _ACCUSED} for item in finding["accusations"]]
        findings.append(finding | {"accusations": accused})
    return _old(form) | {"schema": schema, "results": results, "findings": findings}


def _old(form: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in form.items() if k not in _NEW and (v or k not in _LATER)}
