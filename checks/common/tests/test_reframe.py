# SPDX-License-Identifier: Apache-2.0
"""The checks as ReFrame sees them: a dry run on a site of our own making, and what they write."""

import re
from types import SimpleNamespace

import pytest
from msgspec import to_builtins

from assay.plan.planner import make_plan
from assay.run.launches import launches_to_come
from assay.schema.loading import campaign_from_text
from assay.sites.site import SiteFacts
from checks.common.registry import CHECKS
from checks.common.session.launching import SessionLauncher
from checks.common.tests.dry_runs import dry_run, make_site, write_launches
from checks.hpl import HplParameters
from checks.hpl.run import hpl_dat

CASE = re.compile(r"L\d+_(?P<check>\w+)_[0-9a-f]{8}_b\d+")
CAMPAIGN = """
schema: 1
name: dry
question: what would be launched?
environments: [mpich, openmpi, lam, lam-lamd]
blocks: 1
cases:
  - check: alltoall_pairs
    environments: [lam]
    fixed: {ranks: 3, turns: true, latency_bytes: 0}
  - {check: bisection, environments: [mpich], fixed: {ranks: 4, matchings: 3}}
  - check: collectives
    environments: [lam]
    matrix: {operations: [[scan, gather]]}
    fixed: {ranks: 3, ranks_per_node: 1, sizes: [4, 64], procedure: loop}
  - {check: echo, environments: [openmpi], fixed: {distance: 3, sizes: [8, 100]}}
  - {check: hpl, fixed: {p: 1, q: 2, n: 500, bcast: longM}}
  - check: interference
    environments: [openmpi]
    fixed: {ranks: 4, ranks_per_node: 2, sizes: [8], work_s: 0.002}
  - {check: pt2pt, fixed: {sizes: [300, 600], constructs: [Send/Recv], seed: 5}}
  - check: ring
    environments: [lam-lamd]
    fixed: {ranks: 4, ranks_per_node: 2, order: gray, sizes: [64]}
  - {check: startup, fixed: {ranks: 4, ranks_per_node: 2}}
  - check: streams
    environments: [mpich]
    fixed: {placement: within-node, directions: [both-ways], sizes: [64], window: 4}
  - check: su3_rmd
    fixed: {nx: 4, ny: 4, nz: 4, nt: 8, ranks: 2, trajectories: 6, communication: ssend, beta: 5.7}
  - check: su3_rmd
    environments: [lam]
    fixed: {nx: 4, ny: 4, nz: 4, nt: 8, ranks: 4, trajectories: 6, implementation: milc}
  - {check: startup, environments: [mpich], fixed: {ranks: 2, mpi_profile: true}}
"""


#: Checks by ranks and ranks on a node.
LAYOUTS = {
    (3, 1): ["alltoall_pairs"],
    (4, 1): ["bisection", "echo"],
    (2, 2): ["hpl", "streams", "su3_rmd"],
    (2, 1): ["pt2pt"],
    (4, 2): ["ring", "startup"],
}


@pytest.fixture(scope="module")
def job_scripts(tmp_path_factory):
    """Job scripts of a dry run, by (environment, check)."""
    folder = tmp_path_factory.mktemp("dry")
    site = make_site(folder, {"lam": {"su3_rmd": "/opt/milc/su3_rmd"}}, access=["--account=me"])
    features = {name: {"mpi"} for name in site["environments"]}
    features["lam"].add("program:su3_rmd")
    facts = SiteFacts("virtual", 4, 2, 2**33, features)
    launches = launches_to_come(make_plan(campaign_from_text("dry.yaml", CAMPAIGN), facts), {})
    write_launches(folder, map(to_builtins, launches))
    options = ["--exec-policy=serial", "--exec-order=name", "--keep-stage-files"]
    answer, scripts = dry_run(folder, "launches.py", *options)
    assert answer.returncode == 0, answer.stdout[-3000:]
    found = {}
    for stage, text in scripts.items():
        check = CASE.match(stage.name)["check"]
        found[stage.parent.name, f"{check} by rank.sh" if "./rank.sh" in text else check] = text
    return found


@pytest.mark.plugins("papers")
def test_every_check_is_launched_in_every_environment(job_scripts):
    everywhere = {"hpl", "pt2pt", "startup", "su3_rmd"}
    once = {
        "mpich": {"bisection", "streams", "startup by rank.sh"},
        "openmpi": {"echo", "interference"},
        "lam": {"alltoall_pairs", "collectives", "su3_rmd by rank.sh"},
        "lam-lamd": {"ring"},
    }
    assert set(job_scripts) == {(e, c) for e in once for c in everywhere | once[e]}


def test_the_example_of_every_check_is_launched(tmp_path):
    site = make_site(tmp_path, {"mpich": {"osu": "/opt/osu", "netpipe": "NPmpich2"}})
    cores, launches = site["cores_per_node"], []
    for index, (name, check) in enumerate(CHECKS.items()):
        params = check.parameters.model_validate(check.example)
        placed = check.layout(params, cores)
        asked = {"ranks": placed.ranks, "ranks_per_node": placed.ranks_per_node, "nodes": 1}
        asked |= {"index": index, "case_id": f"{name}-12345678", "check": name, "block": 1}
        asked |= {"environment": "mpich" if "mpi" in check.features else "pvm", "attempt": 1}
        launches.append({**asked, "params": params.complete(), "limit_s": 60.0})
    write_launches(tmp_path, launches)
    answer, scripts = dry_run(tmp_path, "launches.py", "--keep-stage-files")
    assert answer.returncode == 0, answer.stdout[-3000:]
    started = [CASE.match(stage.name) for stage in scripts]
    assert {found["check"] for found in started if found} == {*CHECKS}


@pytest.mark.plugins("papers")
def test_ranks_nodes_and_access_reach_the_job(job_scripts):
    for (ranks, per_node), checks in LAYOUTS.items():
        for script in (text for (_, check), text in job_scripts.items() if check in checks):
            assert f"#SBATCH --ntasks={ranks}\n" in script
            assert f"#SBATCH --ntasks-per-node={per_node}\n" in script
            assert "#SBATCH --account=me\n" in script


FORWARDED = "ASSAY_LAUNCHED_AT,ASSAY_LAUNCH_HOST,ASSAY_TOKEN"
#: What is in the script of a case: how its ranks are started, and what the program is asked.
PAIRS = "alltoall_pairs --latency-bytes=0 --latency-iterations=100 --bandwidth-bytes=1048576"
PAIRS += " --bandwidth-iterations=10 --warmup=2 --turns --seed=1\n"
BISECTION = "bisection --message-bytes=262144 --window=8 --matchings=3 --iterations=10"
STREAMS = "streams --directions=both-ways --sizes=64 --window=4 --iterations=20"
PT2PT = "--constructs=Send/Recv --sizes=300,600 --iterations=100 --warmup=10 --seed=5\n"
LOOP = "--operations=gather,scan --sizes=4,64 --procedure=loop --repetitions=20 --runs=5"
OPENMPI = "mpirun.openmpi -np 2 --map-by ppr:1:node -x ASSAY_TOKEN"
SCRIPTS = [
    ("lam", "alltoall_pairs", PAIRS),
    ("mpich", "bisection", f"{BISECTION} --warmup=2 --seed=1\n"),
    ("openmpi", "echo", "echo --sizes=0,8,100 --iterations=100 --warmup=10 --seed=1\n"),
    ("lam-lamd", "ring", "ring --orders=gray --sizes=64 --turns=100 --warmup=2 --seed=1\n"),
    ("mpich", "streams", f"{STREAMS} --warmup=2 --seed=1\n"),
    ("mpich", "pt2pt", PT2PT),
    ("lam", "collectives", LOOP),
    ("openmpi", "interference", "--work=0.002 --sizes=8 --samples=20 --warmup=3 --window=8"),
    ("openmpi", "interference", "-np 4 --map-by ppr:2:node"),
    ("lam", "su3_rmd", "/out/su3_rmd_double --input=su3.in --json=- --comm=ssend"),
    ("lam", "su3_rmd", "--overlap=no --kernel=auto"),
    # A foreign program gets our evidence and its input, a profiled one the profile.
    ("lam", "su3_rmd by rank.sh", "C ./rank.sh libassay_evidence.so su3.in /opt/milc/su3_rmd\n"),
    ("mpich", "startup by rank.sh", "./rank.sh libassay_profile.so /dev/null /"),
    ("mpich", "pt2pt", "./session.sh none 60 srun -n 2 --ntasks-per-node=1 --mpi=pmi2"),
    ("openmpi", "pt2pt", f"./session.sh none 60 {OPENMPI}"),
    ("lam", "pt2pt", f"./session.sh lam 60 mpirun.lam -O -x {FORWARDED} -ssi rpi sysv C"),
    ("lam-lamd", "pt2pt", f"./session.sh lam 60 mpirun.lam -O -x {FORWARDED} -ssi rpi lamd C"),
]


@pytest.mark.parametrize(("environment", "check", "words"), SCRIPTS)
@pytest.mark.plugins("papers")
def test_what_a_case_asks_reaches_its_script(job_scripts, environment, check, words):
    assert words in job_scripts[environment, check]


def test_prrtes_ranks_are_started_through_its_daemons():
    launcher = SessionLauncher()
    launcher.kind, launcher.extra_options = "assay-prte", ("--bind-to", "none")
    job = SimpleNamespace(num_tasks=4, num_tasks_per_node=2, num_cpus_per_task=None)
    assert " ".join(launcher.command(job)) == (
        "./session.sh prte 60 prun --dvm-uri file:prte.uri -x ASSAY_LAUNCHED_AT"
        " -x ASSAY_LAUNCH_HOST -x ASSAY_TOKEN --np 4 --map-by ppr:2:node --bind-to none"
    )


def test_hpl_dat_asks_for_one_test_with_every_setting():
    settings = HplParameters(n=3000, p=2, q=3, nb=64, bcast="longM", swap="bin-exch", depth=0)
    lines = hpl_dat(settings).splitlines()
    assert len(lines) == 31
    values = {line[14:].split(" ")[0]: line[:14].strip() for line in lines[2:]}
    assert (values["Ns"], values["NBs"], values["Ps"], values["Qs"]) == ("3000", "64", "2", "3")
    assert (values["BCASTs"], values["SWAP"], values["DEPTHs"]) == ("5", "0", "0")
    assert (values["PFACTs"], values["RFACTs"], values["threshold"]) == ("2", "2", "16.0")
