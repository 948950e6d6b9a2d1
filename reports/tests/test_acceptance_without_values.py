# SPDX-License-Identifier: Apache-2.0
"""A criterion of each kind without a value is INCONCLUSIVE and names what is missing; launches that
are disturbed or unproven decide nothing silently; a document holds no scalar of NumPy."""

from html import unescape

import msgspec
import numpy as np
import pytest

from records.flags import MEANINGS, UNPROVEN
from records.forms import as_bytes
from reports.load.loading import load_run
from reports.render import html
from reports.tests.synthetic import analysed, case, chained, changed, with_records
from reports.tests.test_acceptance_judge import DAY, RUN, criteria, entry
from reports.verdicts.acceptance.judge import judge
from reports.verdicts.acceptance.limits import NOT_COUNTED
from reports.verdicts.acceptance.result import acceptance_result
from reports.verdicts.acceptance.values import gather
from reports.verdicts.choice.answer import answer_of

from . import acceptance_runs as runs

pytestmark = pytest.mark.numerical

REFERENCE = {"check": "node", "metric": "dgemm_rate"}
#: A criterion of each kind, on check hpl where it can be.
EVERY_KIND = [
    entry("limit", "hpl", "rate", at_least=1.0, unit="flop/s"),
    entry("ratio", "hpl", "rate", at_least=0.1, reference=REFERENCE | {"where": {"node": "n1"}}),
    entry("spread", "hpl", "rate", cv_at_most=0.5),
    entry("efficiency", "hpl", "rate", peak="nominal", at_least=0.5),
    entry("efficiency", "hpl", "rate", peak="nominal", at_least=0.5, required=False),
    entry("efficiency", "hpl", "rate", peak="measured", at_least=0.5, reference=REFERENCE),
    entry("nodes", "node", "stream_triad", within=0.05),
    entry("links", "alltoall_pairs", "pair_bandwidth", at_least=0.9),
]


def edit_records(path, check, change):
    chained(with_records(path, lambda one: change(one) if one["check"] == check else one))


def without_records(path, check):
    edit_records(path, check, lambda _: None)


def not_planned(path, check):
    cases = msgspec.json.decode((path / "plan.json").read_bytes())["cases"]
    changed(path / "plan.json", cases=[one for one in cases if one["check"] != check])
    without_records(path, check)


def skipped(path, check):
    cases = msgspec.json.decode((path / "plan.json").read_bytes())["cases"]
    skip = {"skipped": "does not fit into memory"}
    cases = [one | skip if one["check"] == check else one for one in cases]
    changed(path / "plan.json", cases=cases)
    without_records(path, check)


def only_failed(path, check):
    failed = {"status": "failed", "reason": "killed", "metrics": []}
    edit_records(path, check, lambda record: record | failed)


@pytest.mark.parametrize("wanted", EVERY_KIND, ids=lambda one: one.get("peak", one["kind"]))
@pytest.mark.parametrize(
    ("cut", "told"),
    [
        (not_planned, "the campaign has no case of check {}"),
        (skipped, "every case of check {} is skipped: does not fit into memory"),
        (without_records, "no ok launch of {} has {} as selected"),
        (only_failed, "launches: 5 failed"),
    ],
)
def test_a_criterion_without_a_value_is_inconclusive_and_says_why(tmp_path, wanted, cut, told):
    path = runs.write_run(tmp_path / RUN)
    cut(path, wanted["check"])
    dossier = runs.dossier(path, criteria(wanted))
    result = next(r for r in dossier.judgement.criteria if r.id == wanted["kind"])
    assert result.verdict == "INCONCLUSIVE"
    assert told.format(wanted["check"], wanted["metric"]) in result.note
    assert dossier.judgement.verdict in ("INCONCLUSIVE", "FAIL")
    assert result.note.split("(")[0] in unescape(html.page(acceptance_result(dossier)))


@pytest.mark.parametrize("cut", [not_planned, skipped, without_records, only_failed])
@pytest.mark.parametrize("wanted", [EVERY_KIND[1], EVERY_KIND[5]], ids=["ratio", "measured"])
def test_a_reference_without_a_value_leaves_the_criterion_open(tmp_path, wanted, cut):
    path = runs.write_run(tmp_path / RUN)
    cut(path, "node")
    result = judge(criteria(wanted), gather(load_run(path), []), DAY, 0)
    (found,) = (r for r in result.criteria if r.id == wanted["kind"])
    assert (found.verdict, found.items) == ("INCONCLUSIVE", ())
    assert "the reference dgemm_rate of node selects 0 values" in found.note
    assert found.note.endswith(("of check node", "fit into memory", "launches: none)", "5 failed)"))


def test_a_document_holds_no_scalars_of_numpy(tmp_path):
    spread = entry("spread", "node", "stream_triad", cv_at_most=0.5)
    dossier = runs.dossier(runs.write_run(tmp_path / RUN), criteria(spread))
    content = msgspec.json.decode(dossier.content)
    (found,) = (r for r in content["results"] if r["id"] == "spread")
    assert [type(item["low"]) for item in found["items"]] == [float] * 5
    scalars = [np.float64(0.1), np.float32(0.5), np.int64(3), np.bool_(True), np.str_("n1")]
    assert msgspec.json.decode(as_bytes(scalars)) == [0.1, 0.5, 3, True, "n1"]
    with pytest.raises(TypeError, match="complex"):
        as_bytes(1j)


@pytest.mark.parametrize(
    ("blocks", "told"),
    [(1, "n = 1; a verdict needs 3 launches; 4 launches disturbed"), (0, "5 launches disturbed")],
)
def test_no_verdict_rests_on_disturbed_launches(tmp_path, blocks, told):
    run = runs.write_run(tmp_path / "run", checks=("node",))
    edit_records(run, "node", lambda r: r | {"flags": ["disturbed"] * (r["block"] > blocks)})
    nodes = entry("nodes", "node", "dgemm_rate", within=0.05)
    for found in judge(criteria(nodes), gather(load_run(run), []), DAY, 0).criteria[1:]:
        assert found.verdict == "INCONCLUSIVE"
        notes = [item.note for item in found.items] or [found.note]
        assert all(note.startswith(told) for note in notes)


@pytest.mark.plugins("contract")
def test_launches_that_count_are_not_said_to_be_missing_for_a_disturbance(tmp_path):
    run = runs.write_run(tmp_path / "run", checks=("node",), blocks=2)
    edit_records(run, "node", lambda record: record | {"flags": ["disturbed"]})
    success = entry("success", "node", "", at_least=0.5)
    del success["metric"]
    found = judge(criteria(success), gather(load_run(run), []), DAY, 0).criteria[1]
    assert [item.note for item in found.items] == ["n = 2; a verdict needs 3 launches"]


@pytest.mark.parametrize(
    ("marked", "at_least", "more", "told"),
    [
        (range(1, 6), 1.0, {}, MEANINGS[UNPROVEN]),
        (range(1, 6), 1e30, {}, "5 of 5 launches are unproven"),
        (range(1, 3), 1.0, {}, "2 of 5 launches are unproven"),
        (range(1, 6), 1.0, {"unproven": "accept"}, "verdicts rest on them"),
    ],
)
def test_unproven_launches_count_only_where_the_criteria_accept_them(
    tmp_path, marked, at_least, more, told
):
    run = runs.write_run(tmp_path / RUN, checks=("hpl",))
    edit_records(run, "hpl", lambda r: r | {"flags": [UNPROVEN] * (r["block"] in marked)})
    limit = entry("limit", "hpl", "rate", at_least=at_least, unit="flop/s")
    dossier = runs.dossier(run, criteria(limit, promise=(), **more))
    answers, hpl = dossier.judgement.criteria
    assert dossier.judgement.verdict == answers.verdict == ("PASS" if more else "INCONCLUSIVE")
    assert not dossier.judgement.rerun
    assert any(told in one.text for one in acceptance_result(dossier).sentences)
    if len(marked) == 5 and not more:
        assert hpl.note == answers.items[0].note == f"5 {NOT_COUNTED}"
    else:
        assert (hpl.verdict, hpl.items[0].n) == ("PASS", 5 if more else 3)


def test_a_choice_says_how_many_launches_are_unproven(tmp_path):
    cases = [case("startup", name, {"ranks": 2}) for name in ("lam", "mpich")]
    run = analysed(tmp_path, cases, blocks=6, edit=lambda one: one | {"flags": [UNPROVEN]})
    assert "12 of 12 launches ran, but by Slurm's statement" in answer_of(run).unknown
