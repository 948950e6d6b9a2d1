# SPDX-License-Identifier: Apache-2.0
"""Site `local`, this machine alone: proved, measured, killed, resumed; what a run on it can say."""

import shutil
import signal
import time

import pytest
import yaml

from assay.onboarding import local
from assay.schedulers.local import LocalScheduler
from assay.sites.loading import SlurmSite, load_site
from assay.sites.site_file import as_site_file, chosen
from assay.tests.campaign_texts import campaign_of, plan_of
from assay.tests.test_run_on_cluster import (
    campaign,
    finish,
    planned_keys,
    records_of,
    start,
    the_run,
    wait_for,
    wait_for_records,
)
from assay.tests.test_walks import assay
from checks.common.tests.test_keeper import marked
from records.errors import AssayError, InfrastructureError

NEEDS = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("mpicc.mpich") is None,
    reason="needs cc, mpicc.mpich: make packages, as root",
)
SITE = """\
schema: 2
name: here
scheduler: local
partitions: {one: {nodes: 1, cores_per_node: 2, memory_bytes_per_node: 1000000000}}
environments:
  mpich: {description: it, compiler: mpicc.mpich, launcher: assay-hydra, library: ^MPICH, \
mpirun: mpirun.mpich, preload: libassay_ucx.so}
"""
WITHIN = "  - check: pt2pt\n    fixed: {placement: within-node, sizes: [1000], iterations: 10}\n"
#: Broken programs, each with the status of its record and words of the reason.
BROKEN = {
    "forks_away": ("(setsid sleep 600 &); echo went on at 1", "ok", ""),
    "ignores_signals": ("trap '' TERM INT HUP; while :; do sleep 1; done", "failed", "ended after"),
    "prints_too_much": ("yes | head -c 90000000; echo went on at 1", "wrong", "67108864 are read"),
    "dies": ("kill -KILL $$", "failed", ""),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a site of this machine."""
    (tmp_path / "site-config" / "here").mkdir(parents=True)
    (tmp_path / "site-config" / "here" / "site.yaml").write_text(SITE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assay.BASE", tmp_path)
    return tmp_path


@NEEDS
def test_a_run_that_is_killed_goes_on_and_leaves_nothing(folder):
    name = campaign(folder, "killed", "mpich", 6, WITHIN)
    process = start(name, "--site", "here")
    path = wait_for_records(folder, "killed", 2)
    process.send_signal(signal.SIGKILL)
    finish(process)
    wait_for(lambda: not marked(f"ASSAY_RUN_ID={path.name}-"))
    before = records_of(path)
    status, said = assay("run", "--resume", path)
    assert status == 0, said
    after = records_of(path)
    assert after[: len(before)] == before
    assert sorted((one.case_id, one.block) for one in after) == planned_keys(path)
    assert {one.status for one in after} == {"ok"}
    assert assay("verify", path)[0] == 0
    status, said = assay("report", path)
    assert "(one machine, without a network)" in said


@NEEDS
def test_broken_programs_are_recorded_and_leave_nothing(folder):
    entries = "".join(
        f"  - name: {name}\n    command: sh run-{name}\n    input: [run-{name}]\n    launch: none\n"
        "    metrics: {went: {find: '^went on at (.)$', unit: '1', of: first, better: lower}}\n"
        for name in BROKEN
    )
    for name, (script, *_) in BROKEN.items():
        (folder / f"run-{name}").write_text(f"{script}\n")
    campaign(folder, "broken", "mpich", 1, entries, launch_s=4)
    status, said = assay("run", "broken.yaml", "--site", "here", folder=folder)
    assert status == 1, said
    found = {one.check: one for one in records_of(the_run(folder, "broken"))}
    for name, (_, ended, reason) in BROKEN.items():
        assert (found[name].status, reason in (found[name].reason or "")) == (ended, True), name
    assert not marked(f"ASSAY_RUN_ID={the_run(folder, 'broken').name}-")


def test_what_is_between_nodes_is_left_out_and_an_entry_may_say_what_is_there_instead():
    site = SlurmSite(site_described())
    between = "{check: pt2pt, fixed: {sizes: [8]}}"
    within = "{check: pt2pt, fixed: {sizes: [16]}, one_node: {placement: within-node}}"
    plan = plan_of(campaign_of(between, within, environments="mpich, lam"), site.facts())
    reasons = [case.skipped for case in plan.cases]
    assert reasons == ["2 ranks at 1 a node need 2 nodes; site here has 1", None]
    assert plan.cases[1].params["placement"] == "within-node"
    assert plan.absent == {
        "lam": "lam needs its daemons on the nodes of a cluster, and this is one machine"
    }


def site_described():
    return chosen(as_site_file(yaml.safe_load(SITE)))


def test_a_scheduler_that_nobody_brings_is_named_with_those_there_are(folder):
    (folder / "site-config" / "here" / "site.yaml").write_text(SITE.replace("local", "pbs"))
    with pytest.raises(AssayError, match=r"scheduler: found 'pbs'; allowed is local, slurm"):
        load_site("here").scheduler()


def test_processes_of_a_run_that_do_not_end_are_named(monkeypatch):
    monkeypatch.setattr("assay.schedulers.local._processes_of", lambda _: iter([2**22 + 1]))
    monkeypatch.setattr("assay.schedulers.local.JOBS_END_S", 0)
    with pytest.raises(InfrastructureError, match=r"process \d+ of this run does not end"):
        LocalScheduler(SlurmSite(site_described())).end("run", None, time.sleep, 1.0)


def test_without_a_compiler_site_init_names_one(monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(AssayError, match=r"no C compiler .* apt-get install gcc"):
        local.local_site("local", (), tmp_path, print)


def test_wheels_that_cannot_be_had_leave_nothing_and_say_what_helps(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("WHEELS", str(tmp_path))
    said = []
    with pytest.raises(InfrastructureError, match=r"apt-get install mpich.* make wheels"):
        local._from_wheels(said.append)
    assert said == ["no MPI is here; fetching mpich 5.0.2, a wheel of PyPI"]
    assert not [*(tmp_path / "cache").rglob("*mpich*")]
