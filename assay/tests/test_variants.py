# SPDX-License-Identifier: Apache-2.0
"""What a campaign asks of environments and jobs: settings variants, from its file to the launcher's
words, resources and CPUs of ranks, from its file to options of sbatch; and every refusal."""

import dataclasses
import json

import pytest

from assay.cli import main
from assay.plan.planner import make_plan
from assay.run.provenance import environment_as_run
from assay.schema.loading import campaign_from_text
from assay.schema.model import Variant
from assay.tests.campaign_texts import (
    SITE,
    SIZE,
    campaign_of,
    plan_of,
    refusal,
    spoiled,
    virtual_site,
)
from records.errors import AssayError
from records.run.plan import Plan

VARIANTS = """\
environments: [mpich, lam, lam-short]
variants:
  lam-short: {of: lam-tcp, settings: {short_message_bytes: 16384}}
"""
SHORT = {"short_message_bytes": 16384}


@pytest.fixture
def site():
    return virtual_site(**SIZE)


@pytest.fixture
def campaign():
    return campaign_from_text("a.yaml", spoiled("environments: [mpich, lam]\n", VARIANTS))


def varied(site, of, settings, name="changed"):
    return site.with_variants({name: Variant(of=of, settings=settings)})


def test_a_variant_is_its_environment_with_the_setting_on_the_launcher(site, campaign):
    environments = site.with_variants(campaign.variants).description.environments
    made, base = environments["lam-short"], environments["lam-tcp"]
    assert made.launcher_options == ["-ssi", "rpi_tcp_short", "16384", *base.launcher_options]
    assert made.library == base.library
    assert (made.variant_of, made.chosen) == ("lam-tcp", SHORT)
    assert base.chosen == {}


def test_a_setting_may_be_a_variable_of_the_ranks(site):
    made = varied(site, "openmpi", {"short_message_bytes": 2048}).description.environments
    assert made["changed"].variables == {"OMPI_MCA_btl_tcp_eager_limit": "2048"}


def test_variants_are_planned_and_kept_in_the_plan(site, campaign):
    facts = site.with_variants(campaign.variants).facts()
    plan = Plan.from_json(make_plan(campaign, facts).to_json())
    assert {case.environment for case in plan.cases} == {"mpich", "lam", "lam-short"}
    assert plan.variants == {"lam-short": {"of": "lam-tcp", "settings": SHORT}}


def test_provenance_tells_the_settings_in_effect(site, campaign):
    varied = site.with_variants(campaign.variants)
    assert environment_as_run(varied, "lam-short").settings == SHORT
    assert environment_as_run(varied, "lam").settings == {"short_message_bytes": 65536}


@pytest.mark.parametrize(
    ("name", "of", "settings", "message"),
    [
        ("changed", "lan", {"short_message_bytes": 4096}, "no environment 'lan'"),
        ("changed", "lam", {"short_mesage": 4096}, "it has short_message_bytes"),
        ("changed", "lam", {"short_message_bytes": 1}, "allowed is 1024 to 1048576 bytes"),
        ("changed", "pvm", {"short_message_bytes": 4096}, "it has none"),
        ("lam", "lam-tcp", {"short_message_bytes": 4096}, "has an environment of this name"),
    ],
)
def test_what_the_site_cannot_give_is_refused(site, name, of, settings, message):
    with pytest.raises(AssayError, match=message):
        varied(site, of, settings, name)


def test_a_variant_that_is_not_measured_or_called_as_an_environment_is_refused(site):
    text = VARIANTS.replace("lam, lam-short", "lam")
    with pytest.raises(AssayError, match=r"variants\.lam-short.*not listed in environments"):
        campaign_from_text("a.yaml", spoiled("environments: [mpich, lam]\n", text))
    with pytest.raises(AssayError, match="has an environment of this name"):
        site.with_possible_variants({"lam": Variant(of="lam-tcp", settings=SHORT)})


def test_a_variant_that_the_site_cannot_give_is_left_out_with_the_reason(site, campaign):
    variants = {"lam-short": Variant(of="lam-tcp", settings={"short_mesage": 16384})}
    campaign = campaign.model_copy(update={"variants": variants})
    plan = make_plan(campaign, site.with_possible_variants(variants).facts())
    assert (plan.environments, plan.variants) == (["mpich", "lam"], {})
    assert plan.absent == {
        "lam-short": "variants.lam-short.settings.short_mesage: no such setting of that"
        " environment; it has short_message_bytes"
    }


def test_a_plan_with_spacks_builds_takes_variants_that_only_these_can_give(
    site, tmp_path, monkeypatch, capsys
):
    """MPICH's limit: 64 KiB at most over UCX, 256 KiB on Spack's ch3."""
    monkeypatch.setattr("assay.cli.campaign.site_to_plan_for", lambda name: (site, ""))
    far = "far: {of: mpich, settings: {short_message_bytes: 262144}}"
    file = tmp_path / "far.yaml"
    file.write_text(spoiled("[mpich, lam]\n", f"[mpich, lam, far]\nvariants: {{{far}}}\n"))
    absent = []
    for words in ([], ["--with", "spack"]):
        assert main(["plan", str(file), "--json", *words]) == 0
        absent.append(json.loads(capsys.readouterr().out)["absent"])
    assert [[*one] for one in absent] == [["far"], []]


KNOWN = {"gpu": frozenset({"count"}), "switches": frozenset({"count"})}
NODES = dataclasses.replace(SITE, cores_per_node=8, resources=KNOWN)


def asking(more="", on_node=2):
    return campaign_of(f"{{check: startup, fixed: {{ranks: 2, ranks_per_node: {on_node}}}{more}}}")


def case_of(*asked, site=NODES):
    (case,) = Plan.from_json(plan_of(asking(*asked), site).to_json()).cases
    return case


def test_what_is_asked_is_planned_and_is_part_of_the_id():
    plain = case_of()
    asked = case_of(", resources: {gpu: {count: 2}}, cpus_per_task: 4")
    assert (asked.resources, asked.cpus_per_task) == ({"gpu": {"count": 2}}, 4)
    assert (plain.resources, plain.cpus_per_task) == ({}, None)
    assert asked.id != plain.id
    assert asked.id != case_of(", resources: {gpu: {count: 1}}, cpus_per_task: 4").id
    assert asked.skipped is None


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
    assert case_of("", "fill", site=eight).ranks_per_node == 2
    assert case_of(", cpus_per_task: 8", "fill", site=eight).ranks_per_node == 1


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
    assert told in refusal(asking(more))


def test_cases_that_differ_in_resources_only_are_refused():
    twice = asking() + asking(", resources: {gpu: {count: 1}}").splitlines()[-1]
    assert "differ in resources or cpus_per_task only: startup in" in refusal(twice, NODES)


def test_the_partitions_templates_make_options_of_sbatch():
    templates = {"gpu": ["--gres=gpu:{count}", "--gpu-bind=closest"], "memory": ["--mem={mb}M"]}
    facts = virtual_site(**SIZE, resources=templates).facts()
    assert facts.resources == {"gpu": {"count"}, "memory": {"mb"}}
