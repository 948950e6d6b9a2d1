# SPDX-License-Identifier: Apache-2.0
"""A site.yaml is taken whole or refused with file, line and key of every fault; no disk is read.
The table of keys in docs/sites.md is current and complete."""

import json
import os
import pwd
import re
from pathlib import Path

import jsonschema
import pytest
import reframe

from assay import ROOT
from assay.sites import site_file
from assay.sites.description import site_schema
from assay.sites.loading import load_site
from assay.sites.site_file import read_description, read_site_file, site_names
from assay.tests.campaign_texts import SIZE, campaign_of, plan_of, virtual_site
from checks.common.session.settings import configuration
from records.errors import AssayError
from records.forms import key_table

GOOD = """\
schema: 2
name: here
partitions:
  all:
    {nodes: 4, cores_per_node: 2,
     memory_bytes_per_node: 8000000000}
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
    like: lam
    preload: null
    settings: null
spack:
  environment: e
  platform: p
  views: {lam: [lam, lam-tcp]}
"""


def planned(case="{check: netpipe, fixed: {transport: library}}"):
    """The cases of a campaign on the site, by check and environment."""
    osu = "{check: osu, fixed: {test: osu_latency}}"
    plan = plan_of(campaign_of(osu, case, environments="lam, lam-tcp"), load_site("here").facts())
    return {(one.check, one.environment): one for one in plan.cases}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Writes the site `here` and gives its path."""
    monkeypatch.setattr(site_file, "SITES", tmp_path)
    monkeypatch.setenv("ASSAY_TEST_SCRATCH", "/scratch/me")
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


def test_what_partitions_share_may_stand_at_the_top(here):
    top = GOOD.replace("partitions:", "access: [--qos=normal]\nlongest_job_s: {s}\npartitions:", 1)
    here(top.replace("{s}", "600").replace("{nodes: 4", "{access: [--account=me], nodes: 4"))
    described = read_description("here")
    assert described.longest_job_s == 600
    assert described.access == ["--partition=all", "--qos=normal", "--account=me"]
    (fault,) = refusal(here(top.replace("{s}", "6")))
    assert fault.startswith("4: longest_job_s: found 6")


def test_an_environment_like_another_states_only_what_differs(here):
    here()
    environments = read_description("here").environments
    lam, tcp, lamd = (environments[name] for name in ("lam", "lam-tcp", "lam-lamd"))
    assert (tcp.compiler, tcp.preload) == ("mpicc.lam", "libassay_writev.so")
    assert tcp.launcher_options == ["-ssi", "rpi", "tcp"]
    assert (tcp.variables, lamd.variables) == ({"A": "a", "C": "c"}, {"A": "a", "B": "b"})
    assert tcp.settings["short"] == lam.settings["short"].model_copy(update={"greatest": 5})
    assert (lamd.preload, lamd.settings) == ("", {})
    assert environments["lam-tcp-spack"].launcher_options == ["-ssi", "rpi", "tcp"]


def test_what_spack_builds_may_have_settings_of_its_own(here):
    own = "{of_spack: {description: s, unit: bytes, least: 1, greatest: 7}}"
    here(GOOD.replace("  views:", f"  settings: {{lam: {own}}}\n  views:"))
    environments = read_description("here").environments
    assert list(environments["lam"].settings) == ["short"]
    assert list(environments["lam-spack"].settings) == ["of_spack"]


def test_all_faults_are_told_each_once_with_its_line(here):
    text = GOOD.replace("schema: 2", "schema: 3").replace("nodes: 4", "nodes: four")
    text = text.replace("    compiler: mpicc.lam\n", "").replace("A: a", "A: 1")
    text = text.replace("[-ssi, rpi, sysv]", "[-ssi, 5, sysv]")
    assert refusal(here(text)) == [
        "1: schema: found 3 (an integer); allowed is an integer equal to 2",
        '5: partitions.all.nodes: found "four" (text); allowed is an integer of at least 0',
        "8: environments.lam.compiler: is missing; allowed is text. C compiler wrapper of the"
        " library; a path where PATH lacks it.",
        "11: environments.lam.launcher_options[1]: found 5 (an integer); allowed is text; put it"
        " in quotes",
        "15: environments.lam.variables.A: found 1 (an integer); allowed is text; put it in quotes",
    ]


def test_a_description_keeps_what_is_written_whether_it_is_there_or_not(here):
    here(GOOD.replace("nodes: 4", "topology: {slurm: nowhere/topology.conf}, nodes: 4"))
    description = read_description("here")
    assert description.topology.slurm == "nowhere/topology.conf"
    programs = {"osu": "$ASSAY_TEST_OSU/osu", "su3_rmd": "/no/such/su3_rmd", "netpipe": "NPlam"}
    assert description.environments["lam"].programs == programs


@pytest.mark.plugins("papers")
def test_a_program_that_is_not_there_is_told_in_the_plan(here, tmp_path, monkeypatch):
    here()
    monkeypatch.delenv("ASSAY_TEST_OSU", raising=False)
    assert planned()["netpipe", "lam"].skipped is None
    reason = planned()["osu", "lam-tcp"].skipped
    assert "environment lam-tcp lacks program:osu, which check osu needs" in reason
    assert reason.endswith(
        "; programs.osu of the environment in its site.yaml: $ASSAY_TEST_OSU/osu: the variable"
        " ASSAY_TEST_OSU is not set"
    )
    monkeypatch.setenv("ASSAY_TEST_OSU", str(tmp_path))
    assert planned()["osu", "lam"].skipped.endswith(f"site.yaml: {tmp_path}/osu does not exist")
    (tmp_path / "osu").mkdir()
    assert planned()["osu", "lam"].skipped is None
    lam = load_site("here").session_data()["environments"]["lam"]
    assert lam["programs"] == {"osu": f"{tmp_path}/osu", "netpipe": "NPlam"}
    here(GOOD.replace(", netpipe: NPlam", ""))
    assert planned()["netpipe", "lam"].skipped.endswith(
        "; give its path as programs.netpipe of the environment in its site.yaml"
    )


def test_without_a_source_of_hpl_the_plan_says_where_to_get_it(here, tmp_path, monkeypatch):
    def skipped(text):
        here(text)
        return planned("{check: hpl, fixed: {n: 100, p: 1, q: 1}}")["hpl", "lam"].skipped

    source = tmp_path / "hpcc.tar.gz"
    told = f"{source} is no file; run make hpl-source, or name an archive as hpl_source"
    assert skipped(f"{GOOD}hpl_source: {source}\n").endswith(told)
    ready = GOOD.replace("netpipe: NPlam", "hpl: /bin/true")
    assert skipped(f"{ready}hpl_source: {source}\n") is None
    source.touch()
    assert skipped(f"{GOOD}hpl_source: {source}\n") is None
    monkeypatch.setattr("assay.sites.site.BASE", tmp_path)
    assert "/build/sources/hpcc_1.5.0.orig.tar.gz is no file" in skipped(GOOD)


def test_sizes_keep_to_their_time_on_an_old_core_and_times_are_of_a_usual_one(here):
    cases = []
    for peak in ("", "core_peak_flop_per_s: 1e10, "):
        ready = GOOD.replace("netpipe: NPlam", "hpl: /bin/true")
        here(ready.replace("nodes: 4", f"{peak}nodes: 4"))
        filled = planned("{check: hpl, fixed: {p: 1, q: 1, memory_share: 0.5, at_most_s: 10}}")
        cases.append(filled["hpl", "lam"])
    assert cases[0].params["n"] == cases[1].params["n"]
    assert cases[0].estimate_s < cases[1].estimate_s <= 10


TWO = """\
schema: 2
name: here
modules_system: lmod
work_dir: $ASSAY_TEST_SCRATCH/assay
partitions:
  fat:
    slurm_partition: batch
    access: [--account=phys, --constraint=fat]
    nodes: 16
    cores_per_node: 128
    memory_bytes_per_node: 1000000000000
    longest_job_s: 86400
    network: {counted: false}
    resources: {gpu: ["--gres=gpu:{count}"]}
    environments: [mpich]
  debug:
    nodes: 2
    memory_bytes_per_node: 200000000000
    cores_per_node: 64
environments:
  mpich:
    description: MPICH
    compiler: mpicc
    launcher: assay-srun
    library: MPICH
    modules: [mpich/4.0]
  other:
    like: mpich
    launcher: null
    launcher_command: mpiexec -n {ranks} -ppn {ranks_per_node}
"""


def test_a_run_uses_one_partition(here):
    here(TWO)
    fat, debug = load_site("here").description, load_site("here:debug").description
    assert (fat.partition, debug.partition) == ("fat", "debug")
    assert fat.access == ["--partition=batch", "--account=phys", "--constraint=fat"]
    assert debug.access == ["--partition=debug"]
    assert (fat.cores_per_node, debug.cores_per_node) == (128, 64)
    assert (fat.network.counted, debug.network.counted) == (False, True)
    assert ([*fat.environments], [*debug.environments]) == (["mpich"], ["mpich", "other"])
    assert debug.environments["other"].launcher == "assay-template"
    facts = load_site("here").facts()
    assert (facts.partition, facts.nodes, facts.longest_job_s) == ("fat", 16, 86400)
    assert load_site("here").work_dir(Path("/run"), "x") == Path("/scratch/me/assay/x")
    assert load_site("here:debug").provenance().partition == "debug"
    told = r"--site here:debugs: site here has no partition 'debugs' \(did you mean debug"
    with pytest.raises(AssayError, match=told):
        load_site("here:debugs")


TCP = "  lam-tcp:\n    like: lam\n"
#: What makes two faults.
FOLLOWED = {"partitoins:", "{a: [lam], b: [lam]}"}
WITH_REFRAME = TWO.replace(
    "  debug:\n",
    """\
  debug:
    reframe:
      devices: [{type: gpu, arch: sm_80, num_devices: 4}]
      features: [gpu]
      extras: {rack: r7}
      container_platforms: [{type: Apptainer, modules: [apptainer]}]
      processor: {arch: zen3}
      sched_options: {job_submit_timeout: 30}
""",
)
FAULTS = {
    GOOD: [
        (TCP, TCP.replace("lam\n", "lan\n"), '20: environments.lam-tcp.like: found "lan" (text)'),
        (TCP, TCP.replace("lam\n", "lan\n"), "(did you mean lam?); allowed is an environment with"),
        (TCP, TCP.replace("lam\n", "lam-lamd\n"), "without `like`: lam"),
        (TCP, TCP.replace("lam\n", "[lam]\n"), "20: environments.lam-tcp.like: found a list of 1"),
        ("preload: null", "prelaod: null", "26: environments.lam-lamd.prelaod: unknown key (did"),
        ("{B: null, C: c}", "{D: null}", "22: environments.lam-tcp.variables.D: found nothing"),
        ("preload: null", "compiler: null", "26: environments.lam-lamd.compiler: is missing"),
        *(
            ("library: LAM", f"library: {one}", f"13: environments.lam.library: found {one};")
            for one in ("'(MPICH'", "'*'", "'a{99999999999}'", "'[b-a]'")
        ),
        ("name: here", "name: there", "2: name: found there; allowed is its folder's name, here"),
        ("partitions:", "partitoins:", "3: partitoins: unknown key (did you mean partitions?)"),
        ("{lam: [lam, lam-tcp]}", "{lam: [lan]}", 'spack.views.lam[0]: found "lan" (text) (did'),
        ("{lam: [lam, lam-tcp]}", "{a: [lam], b: [lam]}", "lam is served more than once; keep one"),
        ("views:", "settings: {m: {}}\n  views:", 'spack.settings.m: found "m" (text); allowed'),
        ("  lam-lamd:", "  lam-spack:", "name of its build, lam-spack, is taken by an environment"),
        ("spack:", "topology: {switches: {a: {switches: b}}}\nspack:", "28: topology: switch a n"),
        ("[lam, lam-tcp]", "[&a lam, *a]", "an alias (*NAME) is not allowed; write it out"),
    ],
    TWO: [
        ("--constraint=fat", "-p x", "8: partitions.fat.access[1]: found -p x; jobs go to"),
        ("--account=phys", "phys", "access[0]: found 'phys'; allowed is an option of sbatch"),
        ("environments: [mpich]", "environments: [mpih]", 'found "mpih" (text) (did you mean'),
        ("assay-srun", "srun", "24: environments.mpich.launcher: found 'srun' (did"),
        ("assay-srun", "srun", "assay-hydra (mpiexec.hydra of MPICH, Intel MPI"),
        ("    launcher: null\n", "", "27: environments.other: needs either launcher, e.g."),
        ("{ranks} -ppn", "{rank} -ppn", "holds {rank}; allowed are {ranks}, {ranks_per_node}"),
        ("-n {ranks} -ppn", "-n 4 -ppn", "which lacks {ranks}, the number of ranks to start"),
        ("{ranks} -ppn", "{ranks.real} -ppn", "holds {ranks.real}; allowed are"),
        ("compiler: mpicc", "compiler: $MPI/mpicc", "found '$MPI/mpicc'; allowed are a program"),
        ("[mpich/4.0]", "[a; id]", "found 'a; id'; allowed is the name of a module"),
        ("gpu:{count}", "gpu:{count", "14: partitions.fat.resources.gpu[0]: found"),
        ("    nodes: 2\n", "", "16: partitions.debug.nodes: is missing; allowed is an integer"),
        ("lmod", "lmood", '3: modules_system: found "lmood" (text) (did you mean lmod?); allowed'),
        ("counted: false", "count: false", "13: partitions.fat.network.count: unknown key"),
        ("--account=phys", '"--account=a\\n#SBATCH --x"', "allowed is one line"),
    ],
    WITH_REFRAME: [("features: [gpu]", "feature: [gpu]", "19: partitions.debug.reframe.feature: ")],
}


@pytest.mark.parametrize(
    ("text", "old", "new", "told"), [(text, *row) for text, rows in FAULTS.items() for row in rows]
)
def test_a_fault_is_told_once_with_its_place(here, text, old, new, told):
    assert text.count(old) == 1
    lines = refusal(here(text.replace(old, new)))
    assert told in "\n".join(lines)
    assert len(lines) == len(set(lines)) == 1 + (new in FOLLOWED)


def test_what_reframe_knows_of_a_partition_is_passed_on(here):
    here(WITH_REFRAME.replace("    nodes: 2", "    nodes: 2\n    sockets_per_node: 2"))
    made = configuration(load_site("here:debug").session_data(), "/x")
    (partition,) = made["systems"][0]["partitions"]
    assert {
        "devices": [{"type": "gpu", "arch": "sm_80", "num_devices": 4}],
        "features": ["gpu"],
        "container_platforms": [{"type": "Apptainer", "modules": ["apptainer"]}],
        "sched_options": {"job_submit_timeout": 30},
    }.items() <= partition.items()
    cores = {"num_cpus": 64, "num_sockets": 2, "num_cpus_per_socket": 32}
    assert partition["processor"] == {"arch": "zen3", **cores}
    assert partition["extras"]["rack"] == "r7"
    schema = Path(reframe.__file__).parent / "schemas/config.json"
    jsonschema.validate(made, json.loads(schema.read_text()))


def test_an_unset_variable_is_refused(here, monkeypatch):
    monkeypatch.delenv("ASSAY_TEST_SCRATCH", raising=False)
    assert refusal(here(TWO)) == [
        "4: work_dir: found $ASSAY_TEST_SCRATCH/assay: the variable ASSAY_TEST_SCRATCH is not set;"
        " set it where Assay is called, or write the path",
    ]


def test_the_user_is_known_where_cron_does_not_tell(here, monkeypatch):
    monkeypatch.delenv("USER", raising=False)
    here(TWO.replace("$ASSAY_TEST_SCRATCH", "/scratch/$USER"))
    user = pwd.getpwuid(os.getuid()).pw_name
    assert load_site("here").work_dir(Path("/r"), "x") == Path(f"/scratch/{user}/assay/x")


@pytest.mark.parametrize("own", ["--exclude=n[7-8],n9", "--exclude n[7-8],n9", "-xn[7-8],n9", ""])
def test_launches_are_kept_off_nodes_beside_those_that_the_site_excludes_itself(own):
    whole = virtual_site(**SIZE, access=["-x n0", *own.split()] if own else [])
    site = whole.without_nodes({"n2", "n3"})
    also = "n[7-8],n9," if own else ""
    assert site.description.access[-1] == f"--exclude={also}n2,n3"
    assert site.facts().nodes == 2
    assert site.without_nodes({"n1"}).description.access[-1] == f"--exclude={also}n2,n3,n1"
    assert whole.without_nodes(()).description == whole.description
    with pytest.raises(AssayError, match="no name of a node"):
        site.without_nodes(["n1 --uid=0"])


def test_the_page_is_up_to_date():
    page = (ROOT / "docs" / "sites.md").read_text()
    tables = re.search(r"^<!-- keys:.*?-->\n(.*)^<!-- end of keys -->", page, re.DOTALL | re.M)
    assert tables is not None
    assert tables[1] == key_table(site_schema()) + "\n", "run make schema"


@pytest.mark.parametrize("name", site_names())
def test_shipped_sites_are_right(name):
    assert read_site_file(name).name == name
