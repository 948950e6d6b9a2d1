# SPDX-License-Identifier: Apache-2.0
"""Criteria files: those that come with Assay are right, and every fault of others is named. JSON
Schemas of campaigns and criteria: up to date, complete, and of the same mind as the validators."""

import json
import subprocess
import sys

import jsonschema
import pytest
import yaml

from assay import criteria_files
from assay.schema import criteria, loading
from assay.schema.criteria import criteria_from_text, criteria_schema, load_criteria
from assay.schema.loading import campaign_names, campaign_schema, load_campaign
from assay.sites.description import site_schema
from assay.tests import campaign_texts
from assay.tests.campaign_texts import spoiled
from assay.tests.test_schema_campaign import FAULTS
from checks.common.registry import CHECKS
from records.errors import AssayError

GOOD = """\
schema: 1
name: mine
title: Mine
criteria:
  - {id: triad, kind: nodes, title: T, check: node, metric: stream_triad}
  - {id: bw, kind: links, title: B, check: alltoall_pairs, metric: pair_bandwidth, at_least: 0.93}
  - {id: hpl, kind: limit, title: H, check: hpl, metric: rate, at_least: 1.0e+9, unit: flop/s}
"""


def fault(text):
    with pytest.raises(AssayError) as caught:
        criteria_from_text("mine.yaml", text)
    return str(caught.value)


@pytest.fixture(scope="module")
def of_campaigns():
    jsonschema.Draft202012Validator.check_schema(campaign_schema())
    return jsonschema.Draft202012Validator(campaign_schema())


@pytest.mark.plugins("papers")
def test_shipped_schemas_are_up_to_date():
    assert json.loads(loading.SCHEMA_FILE.read_text()) == campaign_schema(), "run make schema"
    assert json.loads(criteria.SCHEMA_FILE.read_text()) == criteria_schema(), "run make schema"


@pytest.mark.parametrize("schema_of", [campaign_schema, criteria_schema, site_schema])
def test_every_key_has_a_description_and_a_unit(schema_of):
    schema = schema_of()
    parts = [schema, *schema["$defs"].values()]
    keys = [key for part in parts for key in part.get("properties", {}).items()]
    assert len(keys) > 40
    told = {"description", "unit"}
    assert [name for name, key in keys if "$ref" not in key and not told <= key.keys()] == []


@pytest.mark.parametrize("name", campaign_names())
def test_shipped_and_right_campaigns_satisfy_it(of_campaigns, name):
    campaign = load_campaign(name)
    assert campaign.name == name
    text = campaign.origin.text
    assert "campaign.schema.json\n" in text
    for one in (text, campaign_texts.GOOD, spoiled("blocks: 3", "blocks: {greatest: 9}")):
        of_campaigns.validate(yaml.safe_load(one))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(FAULTS[name][:2] for name in ("unknown key", "no blocks", "least alone")),
        *(FAULTS[name][:2] for name in ("name of a path", "unknown check", "unknown parameter")),
        *(FAULTS[name][:2] for name in ("word for a word", "negative threshold")),
        ("[300, 600]", "[{from: 3}]"),
        ("blocks: 3", "blocks: {greatest: 5}"),
        ("pt2pt: 0.5", "SU3: 0.5"),
        ("node_hours: 5", "node_hours: 0"),
    ],
)
def test_bad_campaigns_do_not(of_campaigns, old, new):
    assert not of_campaigns.is_valid(yaml.safe_load(spoiled(old, new)))


@pytest.mark.parametrize("name", criteria_files())
def test_the_shipped_schema_describes_shipped_criteria(name):
    found, text = load_criteria(name)
    assert found.name == name
    jsonschema.Draft202012Validator(criteria_schema()).validate(yaml.safe_load(text))
    assert "$schema=criteria.schema.json" in text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("kind: nodes", "kind: node", 'mine.yaml:5: criteria[0].kind: found "node" (text)'),
        ("stream_triad", "stream_trio", "did you mean stream_triad?"),
        ("check: node,", "check: nodes,", "did you mean node?"),
        ("unit: flop/s", "unit: Gflop/s", "allowed is flop/s"),
        ("at_least: 0.93", "at_most: 0.93", "mine.yaml:6: criteria[1].at_most"),
        ("at_least: 0.93", "at_least: 1.93", "criteria[1].at_least: found 1.93"),
        (", at_least: 1.0e+9", "", "has neither at_least nor at_most"),
        ("id: bw", "id: triad", "the id triad is taken"),
        ("stream_triad}", "stream_triad, where: {rank: 1}}", "criteria[0].where.rank"),
        ("stream_triad}", "stream_triad, within: .nan}", "criteria[0].within"),
    ],
)
def test_a_fault_is_named_with_its_place(old, new, told):
    assert old in GOOD
    assert told in fault(GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("metric", "peak", "told"),
    [
        ("time", "nominal", 'criteria[3].metric: found "time" (text)'),
        ("rate", "nominal", None),
        ("rate", "measured, reference: {check: node, metric: dgemm_rate}", None),
        ("rate", "measured, reference: {check: node, metric: stream_triad}", "reference.metric"),
    ],
)
def test_only_a_rate_has_a_peak_and_only_in_its_own_unit(metric, peak, told):
    entry = f"kind: efficiency, title: E, check: hpl, metric: {metric}, at_least: 0.5, peak: {peak}"
    text = f"{GOOD}  - {{id: peak, {entry}}}\n"
    if told is None:
        assert criteria_from_text("mine.yaml", text).criteria[-1].metric == metric
    else:
        assert told in fault(text)


@pytest.mark.parametrize(
    ("waiver", "told"),
    [
        ("{criterion: tria, author: A, reason: R, expires: 2027-01-01}", "did you mean triad?"),
        ("{criterion: bw, author: A, reason: R, expires: 2027-13-01}", "a day such as 2027-03-31"),
        ("{criterion: bw, reason: R, expires: 2027-01-01}", "waivers[0].author: is missing"),
    ],
)
def test_a_waiver_without_author_day_or_criterion_is_refused(waiver, told):
    assert told in fault(f"{GOOD}waivers:\n  - {waiver}\n")


def test_every_metric_of_a_check_can_be_limited():
    for check, definition in CHECKS.items():
        for number, metric in enumerate(definition.metrics):
            what = f"check: {check}, metric: {metric.name}, unit: '{metric.unit}'"
            one = f"id: limit-{number}, kind: limit, title: L, at_most: 1.0e+12, {what}"
            text = f"{GOOD}  - {{{one}}}\n"
            assert criteria_from_text("mine.yaml", text).criteria[-1].metric == metric.name
    assert "site_step_time" in CHECKS["su3_rmd"].metrics_by_name


def test_an_unknown_name_tells_what_there_is():
    with pytest.raises(AssayError, match=r"did you mean standard\?.*rehearsal, standard"):
        load_criteria("standards")


@pytest.mark.parametrize("module", ["assay.schema.criteria", "assay.schema.loading"])
def test_campaigns_and_criteria_are_read_whichever_comes_first(module):
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
