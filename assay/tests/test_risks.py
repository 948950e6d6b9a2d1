# SPDX-License-Identifier: Apache-2.0
"""What an acceptance as planned risks is simulated with the judging itself."""

from __future__ import annotations

from assay.criteria.loading import criteria_from_text
from assay.criteria.risks import rendered, risks
from assay.plan import make_plan
from assay.schema import load_campaign
from assay.tests.campaign_texts import SITE
from records.limits import Nominal

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
RATES = Nominal(link_bytes_per_s=1e8, core_flop_per_s=1e10, node_memory_bytes_per_s=1e10)


def found(text):
    plan = make_plan(load_campaign("acceptance"), SITE)
    criteria = criteria_from_text("mine.yaml", text)
    return plan, criteria, risks(plan, criteria, RATES, machines=5)


def test_good_machines_pass_and_bad_ones_do_not():
    plan, criteria, (good, node, link) = found(TEXT + PROMISE)
    assert (good.passed, node.failed, link.failed) == (5, 5, 5)
    assert node.machine == "one node 10 % slow"
    text = rendered(plan, criteria, [good, node, link])
    assert "producer's 0 ±" in text
    assert text.count("consumer's 0 ±") == 2


def test_without_an_absolute_limit_no_good_machine_passes():
    assert found(TEXT)[2][0].passed == 0
