# SPDX-License-Identifier: Apache-2.0
"""A site.yaml is taken whole or refused with file, line and key of every fault; no disk is read."""

import os

import pytest

from assay.plan import make_plan
from assay.schema import campaign_from_text
from assay.sites import site_file
from assay.sites.loading import load_site
from assay.sites.site_file import read_description
from records.errors import AssayError

GOOD = """\
schema: 1
name: here
partition: all
nodes: 4
cores_per_node: 2
memory_bytes_per_node: 8000000000
environments:
  lam:
    description: LAM
    compiler: mpicc.lam
    launcher: assay-lam
    launcher_options: [-ssi, rpi, sysv]
    library: LAM
    preload: libassay_writev.so
    programs: {osu: $ASSAY_TEST_OSU/osu, su3_rmd: /no/such/su3_rmd, netpipe: NPlam}
    variables: {A: a, B: b}
    settings:
      short: {description: s, unit: bytes, least: 1, greatest: 9, options: ["{value}"]}
  lam-tcp:
    like: lam
    launcher_options: [-ssi, rpi, tcp]
    variables: {B: null, C: c}
    settings: {short: {greatest: 5}}
  lam-lamd:
    like: lam-tcp
    preload: null
    settings: null
spack:
  environment: e
  platform: p
  views: {lam: [lam, lam-tcp]}
"""

CAMPAIGN = """\
schema: 1
name: c
question: what is there?
environments: [lam, lam-tcp]
cases:
- {check: osu, fixed: {test: osu_latency}}
- {check: netpipe, fixed: {transport: library}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Writes the site `here` and gives its path."""
    monkeypatch.setattr(site_file, "SITES", tmp_path)
    (tmp_path / "here").mkdir()

    def write(text=GOOD):
        path = tmp_path / "here" / "site.yaml"
        path.write_text(text)
        return path

    return write


def refusal(path):
    with pytest.raises(AssayError) as caught:
        read_description("here")
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:") for line in lines]


def test_an_environment_like_another_states_only_what_differs(here):
    here()
    environments = read_description("here").environments
    lam, tcp, lamd = (environments[name] for name in ("lam", "lam-tcp", "lam-lamd"))
    assert (tcp.compiler, tcp.preload) == ("mpicc.lam", "libassay_writev.so")
    assert tcp.launcher_options == lamd.launcher_options == ["-ssi", "rpi", "tcp"]
    assert tcp.variables == lamd.variables == {"A": "a", "C": "c"}
    short = lam.settings["short"]
    assert tcp.settings["short"] == short.model_copy(update={"greatest": 5})
    assert (lamd.preload, lamd.settings) == ("", {})
    assert environments["lam-tcp-spack"].launcher_options == ["-ssi", "rpi", "tcp"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "like: lam\n",
            "like: lan\n",
            '20: environments.lam-tcp.like: found "lan" (text)',
        ),
        ("like: lam\n", "like: lan\n", "(did you mean lam?); allowed is lam, lam-lamd"),
        ("like: lam\n", "like: lam-tcp\n", "20: environments.lam-tcp.like: an environment is not"),
        ("like: lam\n", "like: lam-tcp\n", "not like itself; allowed is another: lam, lam-lamd"),
        ("like: lam\n", "like: [lam]\n", "20: environments.lam-tcp.like: found a list of 1 values"),
        ("like: lam\n", "like: [lam]\n", "allowed is another environment: lam, lam-lamd"),
        ("preload: null", "prelaod: null", "26: environments.lam-lamd.prelaod: unknown key (did"),
        ("{B: null, C: c}", "{D: null}", "22: environments.lam-tcp.variables.D: found nothing"),
    ],
)
def test_a_wrong_like_is_refused_with_what_is_known(here, old, new, told):
    (line,) = refusal(here(GOOD.replace(old, new)))
    assert told in line


@pytest.mark.parametrize("pattern", ["'(MPICH'", "'*'", "'a{99999999999}'", "'[b-a]'"])
def test_a_pattern_that_is_none_is_refused_where_it_stands(here, pattern):
    (line,) = refusal(here(GOOD.replace("library: LAM", f"library: {pattern}")))
    assert line.startswith(f"13: environments.lam.library: found {pattern[1:-1]}; allowed is")


def test_a_circle_is_told_for_each_environment_in_it(here):
    assert refusal(here(GOOD.replace("like: lam\n", "like: lam-lamd\n"))) == [
        "20: environments.lam-tcp.like: goes in a circle: lam-tcp, lam-lamd, lam-tcp; allowed is"
        " one outside it: lam",
        "25: environments.lam-lamd.like: goes in a circle: lam-lamd, lam-tcp, lam-lamd; allowed is"
        " one outside it: lam",
    ]


def test_all_faults_are_told_each_once_with_its_line(here):
    text = GOOD.replace("schema: 1", "schema: 2").replace("nodes: 4", "nodes: four")
    text = text.replace("    compiler: mpicc.lam\n", "").replace("A: a", "A: 1")
    text = text.replace("greatest: 5", "greatest: no")
    text = text.replace("[-ssi, rpi, sysv]", "[-ssi, 5, sysv]")
    assert refusal(here(text)) == [
        "1: schema: found 2 (an integer); allowed is an integer equal to 1",
        '4: nodes: found "four" (text); allowed is an integer of at least 0',
        "8: environments.lam.compiler: is missing; allowed is text. C compiler wrapper of the"
        " library.",
        "11: environments.lam.launcher_options[1]: found 5 (an integer); allowed is text; put it"
        " in quotes",
        "15: environments.lam.variables.A: found 1 (an integer); allowed is text; put it in quotes",
        "22: environments.lam-tcp.settings.short.greatest: found an unquoted no, which YAML reads"
        ' as false; write "no" in quotes for a word, or false',
    ]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name: here", "name: there", "2: name: found there; allowed is its folder's name, here"),
        ("partition: all", "partitoin: all", "3: partitoin: unknown key (did you mean partition?)"),
        ("{lam: [lam, lam-tcp]}", "{lam: [lan]}", 'spack.views.lam[0]: found "lan" (text) (did'),
        ("{lam: [lam, lam-tcp]}", "{a: [lam], b: [lam]}", "lam is served more than once; keep one"),
        ("views:", "modules: {m: [x]}\n  views:", 'spack.modules.m: found "m" (text); allowed'),
        ("  lam-lamd:", "  lam-spack:", "name of its build, lam-spack, is taken by an environment"),
        (
            "spack:",
            "topology: {torus: [2, 2], nodes: n1}\nspack:",
            "28: topology: a torus of 2",
        ),
        ("[lam, lam-tcp]", "&a [lam]", "the anchor &a is not allowed; write it out"),
    ],
)
def test_a_fault_is_told_with_its_place(here, old, new, told):
    assert GOOD.count(old) == 1
    assert told in "\n".join(refusal(here(GOOD.replace(old, new))))


def test_a_description_keeps_what_is_written_whether_it_is_there_or_not(here):
    here(GOOD.replace("spack:", "topology: {slurm: nowhere/topology.conf}\nspack:"))
    description = read_description("here")
    assert description.topology.slurm == "nowhere/topology.conf"
    assert description.environments["lam"].programs == {
        "osu": "$ASSAY_TEST_OSU/osu",
        "su3_rmd": "/no/such/su3_rmd",
        "netpipe": "NPlam",
    }


def test_a_program_that_is_not_there_is_told_in_the_plan(here, tmp_path, monkeypatch):
    here()
    monkeypatch.delenv("ASSAY_TEST_OSU", raising=False)

    def skipped():
        plan = make_plan(campaign_from_text("c.yaml", CAMPAIGN), load_site("here").facts())
        return {(case.check, case.environment): case.skipped for case in plan.cases}

    assert skipped()["netpipe", "lam"] is None
    reason = skipped()["osu", "lam-tcp"]
    assert "environment lam-tcp lacks program:osu, which check osu needs" in reason
    assert reason.endswith(
        "; programs.osu of the environment in its site.yaml: $ASSAY_TEST_OSU/osu: the variable"
        " ASSAY_TEST_OSU is not set"
    )
    monkeypatch.setenv("ASSAY_TEST_OSU", str(tmp_path))
    assert skipped()["osu", "lam"].endswith(f"site.yaml: {tmp_path}/osu does not exist")
    (tmp_path / "osu").mkdir()
    assert skipped()["osu", "lam"] is None
    lam = load_site("here").session_data()["environments"]["lam"]
    assert lam["programs"] == {"osu": f"{tmp_path}/osu", "netpipe": "NPlam"}


def test_a_program_that_the_site_does_not_name_is_told_with_where_to_name_it(here):
    here(GOOD.replace(", netpipe: NPlam", ""))
    plan = make_plan(campaign_from_text("c.yaml", CAMPAIGN), load_site("here").facts())
    reason = next(case.skipped for case in plan.cases if case.check == "netpipe")
    assert reason.endswith(
        "; give its path as programs.netpipe of the environment in its site.yaml"
    )


def test_a_cluster_of_a_site_that_is_none_is_refused(here):
    here()
    with pytest.raises(AssayError, match="site here is no virtual cluster; write --site here"):
        load_site("here:mine")


def test_a_virtual_cluster_asks_for_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(AssayError, match="belongs to root: run assay with sudo"):
        load_site("virtual:t-nowhere")
