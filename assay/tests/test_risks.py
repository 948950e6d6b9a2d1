# SPDX-License-Identifier: Apache-2.0
"""What an acceptance as planned risks is simulated with the judging itself."""

from __future__ import annotations

import pytest

from assay.criteria.loading import criteria_from_text
from assay.criteria.risks import rendered, risks
from assay.plan import make_plan
from assay.schema import load_campaign
from assay.tests.campaign_texts import SITE
from records.site.limits import Nominal

TEXT = """\
schema: 1
name: mine
title: Mine
criteria:
  - {id: triad, kind: nodes, title: T, check: node, metric: stream_triad}
  - {id: bw, kind: links, title: B, check: alltoall_pairs, metric: pair_bandwidth, at_least: 0.93}
"""
PROMISE = """\
  - id: peak
    kind: efficiency
    title: P
    check: node
    metric: dgemm_rate
    peak: nominal
    at_least: 0.6
"""
#: A weaker limit of the same metric.
WEAKER = PROMISE.replace("id: peak", "id: weaker").replace("0.6", "0.1")
RATES = Nominal(link_bytes_per_s=1e8, core_flop_per_s=1e10, node_memory_bytes_per_s=1e10)


def found(text):
    plan = make_plan(load_campaign("acceptance"), SITE)
    criteria = criteria_from_text("mine.yaml", text)
    return plan, criteria, risks(plan, criteria, RATES, machines=5)


@pytest.mark.parametrize("promise", [PROMISE, PROMISE + WEAKER])
def test_good_machines_pass_and_bad_ones_do_not(promise):
    plan, criteria, (good, node, link) = found(TEXT + promise)
    assert (good.passed, node.failed, link.failed) == (5, 5, 5)
    assert node.machine == "one node 10 % slow"
    text = rendered(plan, criteria, [good, node, link])
    assert "producer's 0 ±" in text
    assert text.count("consumer's 0 ±") == 2


def test_without_an_absolute_limit_no_good_machine_passes():
    plan, criteria, every = found(TEXT)
    assert every[0].passed == 0
    text = rendered(plan, criteria, every)
    assert "open: no criterion in 5 of 5: has an absolute limit" in text
    assert "nominal rates to site.yaml" in text


def test_what_is_open_names_the_criterion_and_what_it_lacks():
    text = TEXT + PROMISE + PROMISE.replace("id: peak", "id: other").replace("dgemm_rate", "rate")
    text = text.replace("check: node\n    metric: rate", "check: hpl\n    metric: rate")
    criteria = criteria_from_text("mine.yaml", text)
    for campaign, rates, name, lacks in (
        ("acceptance", Nominal(), "peak", "declares no core_peak"),
        ("quick", RATES, "triad", "the campaign has no case of check node"),
    ):
        plan = make_plan(load_campaign(campaign), SITE)
        every = risks(plan, criteria, rates, machines=3)
        assert every[0].passed + every[0].failed == 0
        lines = [line for line in every[0].undecided if line.startswith(f"criterion {name} in 3")]
        assert len(lines) == 1 and lacks in lines[0], every[0].undecided
        assert f"open: {lines[0]}" in rendered(plan, criteria, every)
        assert all(risk.undecided for risk in every if risk.passed + risk.failed < risk.of)


def test_bounds_that_scatter_keeps_wide_are_told():
    plan = make_plan(load_campaign("acceptance"), SITE)
    text = TEXT.partition("criteria:")[0] + "criteria:\n" + PROMISE
    wide = risks(plan, criteria_from_text("mine.yaml", text), RATES, machines=3, cv=0.5)
    told = " ".join(wide[0].undecided)
    assert "criterion peak in 2 of 3: at n = 20 the limit lies inside the bounds" in told
