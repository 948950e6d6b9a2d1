# SPDX-License-Identifier: Apache-2.0
"""What cases ask of their jobs beside nodes: part of the id, skipped where the site lacks it."""

import dataclasses

import pytest

from assay.plan import make_plan
from assay.schema import campaign_from_text
from assay.sites.loading import SlurmSite
from assay.sites.site_file import read_description
from assay.tests.campaign_texts import SITE
from assay.tests.test_site_file import SIZE
from records.errors import AssayError
from records.run.plan import Plan

CAMPAIGN = """\
schema: 1
name: asked
question: what is asked of a job?
environments: [mpich]
cases:
- {{check: startup, fixed: {{ranks: 2, ranks_per_node: {on_node}}}{more}}}
"""
KNOWN = {"gpu": frozenset({"count"}), "switches": frozenset({"count"})}
NODES = dataclasses.replace(SITE, cores_per_node=8, resources=KNOWN)


def plan_of(more="", on_node=2, site=NODES):
    text = CAMPAIGN.format(more=more, on_node=on_node)
    return make_plan(campaign_from_text("asked.yaml", text), site)


def case_of(*asked):
    (case,) = Plan.from_json(plan_of(*asked).to_json()).cases
    return case


def test_what_is_asked_is_planned_and_is_part_of_the_id():
    plain = case_of()
    asked = case_of(", resources: {gpu: {count: 2}}, cpus_per_task: 4")
    assert (asked.resources, asked.cpus_per_task) == ({"gpu": {"count": 2}}, 4)
    assert (plain.resources, plain.cpus_per_task) == ({}, None)
    assert asked.id != plain.id
    assert asked.id != case_of(", resources: {gpu: {count: 1}}, cpus_per_task: 4").id
    assert asked.skipped is None


def test_a_plan_of_cases_that_ask_for_nothing_is_as_before():
    written = plan_of().to_json()
    assert "cpus_per_task" not in written
    assert "resources" not in written


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (", resources: {fpga: {count: 1}}", "site virtual knows no resource fpga (`resources` in"),
        (", resources: {fpga: {count: 1}}", "its site.yaml); it knows gpu, switches"),
        (", resources: {gpu: {number: 1}}", "resource gpu of site virtual takes count; the case"),
        (", resources: {gpu: {count: 1, x: 2}}", "takes count; the case gives count, x"),
        (", cpus_per_task: 5", "with 5 CPUs a rank: 2 ranks a node need 2 cores; a node of site"),
        (", cpus_per_task: 16", "with 16 CPUs a rank: 2 ranks a node need 2 cores"),
    ],
)
def test_what_the_site_cannot_give_skips_the_case(more, told):
    assert told in case_of(more).skipped


def test_ranks_that_fill_a_node_leave_room_for_their_cpus():
    eight = dataclasses.replace(NODES, nodes=8)
    assert case_of("", "fill", eight).ranks_per_node == 2
    assert case_of(", cpus_per_task: 8", "fill", eight).ranks_per_node == 1


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (", resources: {gpu: {count: '1 --uid=0'}}", "found '1 --uid=0'; allowed is a word of"),
        (", resources: {gpu: {count: -1}}", "resources.gpu.count: found -1"),
        (", resources: {GPU: {count: 1}}", "found 'GPU'; allowed is a name of small letters"),
        (", resources: [gpu]", "resources: found a list of 1 values; allowed is a mapping"),
        (", cpus_per_task: 0", "cpus_per_task: found 0 (an integer); allowed is an integer from"),
    ],
)
def test_what_no_option_can_be_is_refused(more, told):
    with pytest.raises(AssayError) as caught:
        case_of(more)
    assert told in str(caught.value)


def test_cases_that_differ_in_resources_only_are_refused():
    text = CAMPAIGN.format(more="", on_node=2)
    twice = text + text.splitlines()[-1][:-1] + ", resources: {gpu: {count: 1}}}\n"
    told = "differ in resources or cpus_per_task only: startup in"
    with pytest.raises(AssayError, match=told):
        make_plan(campaign_from_text("asked.yaml", twice), NODES)


def test_the_partitions_templates_make_options_of_sbatch():
    templates = {"gpu": ["--gres=gpu:{count}", "--gpu-bind=closest"], "memory": ["--mem={mb}M"]}
    described = read_description("virtual").model_copy(update={"resources": templates, **SIZE})
    site = SlurmSite(described)
    assert site.facts().resources == {"gpu": {"count"}, "memory": {"mb"}}
