# SPDX-License-Identifier: Apache-2.0
"""The whole way of a new user on a foreign cluster, and what may happen there.

Takes minutes: run by `make test-site`, which prints all that users read, and times.
ASSAY_TEST_SITE_BLOCKS: blocks of the campaign quick.
"""

import json
import os
import re
import time
from collections.abc import Iterator

import pytest
import yaml

from setup.foreign_cluster.tests import site_setup
from setup.foreign_cluster.tests.walk import NEEDS_SITE, Walk, Wheels, walk_on

pytestmark = NEEDS_SITE
NAME = "walk"
BLOCKS = os.environ.get("ASSAY_TEST_SITE_BLOCKS", "2")


@pytest.fixture(scope="module")
def walk(wheels: Wheels) -> Iterator[Walk]:
    """The cluster."""
    with walk_on(NAME, wheels) as found:
        yield found


@pytest.fixture(scope="module")
def ready(walk: Walk) -> Walk:
    """The first user's checkout, with a site.yaml that `site init` wrote by itself."""
    user = walk.users()[0]
    begun = time.monotonic()
    walk.set_up(user)
    if not (walk.home(user) / "site-config" / NAME).exists():
        done = walk.user(user, ".venv/bin/assay site init")
        assert done.returncode == 0, done.stderr
    print(f"clone, set-up and site init took {time.monotonic() - begun:.0f} s")
    return walk


@pytest.fixture
def site(ready: Walk) -> Iterator[str]:
    """Text of the site.yaml, which is written back after the test."""
    user = ready.users()[0]
    text = (ready.home(user) / "site-config" / NAME / "site.yaml").read_text()
    yield text
    ready.write(user, f"site-config/{NAME}/site.yaml", text)


def environment(site: str) -> str:
    """One environment of the site."""
    return str(next(iter(yaml.safe_load(site)["environments"])))


def partition(site: str) -> str:
    """The partition that runs use: the site's first."""
    return str(next(iter(yaml.safe_load(site)["partitions"])))


def nodes_of(walk: Walk, site: str) -> list[str]:
    """The nodes of that partition."""
    listed = walk.admin("sinfo", "-h", "-N", "-o", "%N", "-p", partition(site))
    return sorted(set(listed.split()))


def tiny(walk: Walk, site: str, blocks: int = 1) -> list[str]:
    """The first user's command of a new run of a tiny campaign."""
    user = walk.users()[0]
    walk.user(user, "rm -rf results/tiny")
    campaign = walk.campaign(user, environment(site), blocks)
    return [".venv/bin/assay", "run", campaign, "--site", NAME, "--plain"]


def all_ok(walk: Walk, user: str, count: int) -> bool:
    """Whether the newest run has so many records, all good."""
    return [record["status"] for record in walk.records(user, "tiny")] == ["ok"] * count


def test_from_clone_to_report(ready, site):
    user = ready.users()[0]
    print(site)
    modules = site_setup.description(NAME)["modules"]
    assert len(yaml.safe_load(site)["environments"]) == len(modules)
    words = f".venv/bin/assay run quick --site {NAME} --checks pt2pt,startup --blocks {BLOCKS}"
    done = ready.user(user, words)
    assert done.returncode == 0, done.stderr
    assert {record["status"] for record in ready.records(user, "quick")} <= {"ok", "skipped"}
    done = ready.user(user, ".venv/bin/assay report")
    assert "index.html" in done.stdout
    print(f"from clone to report: {time.monotonic() - ready.begun:.0f} s")


def test_a_busy_queue_is_waited_for_and_two_users_run_at_once(ready, site):
    """Another user holds all nodes; then both run campaigns."""
    first, other = ready.users()[:2]
    ready.set_up(other)
    ready.write(other, f"site-config/{NAME}/site.yaml", site)
    size = f"-p {partition(site)} -N {len(nodes_of(ready, site))} --exclusive -t 60"
    held = ready.user(other, f"sbatch --parsable {size} --wrap 'sleep 3600'")
    assert held.returncode == 0, held.stderr
    name = environment(site)
    campaigns = {user: ready.campaign(user, name) for user in (first, other)}
    words = [".venv/bin/assay", "run", campaigns[first], "--site", NAME, "--plain"]
    waiting = ready.start(first, *words)
    waiting.until_shown("waits since", "a launch or proof that waits")
    ready.user(other, f"scancel {held.stdout.strip().splitlines()[-1]}")
    beside = ready.start(other, *words[:2], campaigns[other], *words[3:])
    assert waiting.end() == 0
    assert beside.end() == 0
    assert all_ok(ready, first, 1)
    assert all_ok(ready, other, 1)


def test_killed_and_resumed_through_a_maintenance(ready, site):
    user = ready.users()[0]
    running = ready.start(user, *tiny(ready, site, blocks=4))
    running.until_shown("[1/4]", "the first record")
    running.process.kill()
    running.process.wait()
    ready.admin(*site_setup.maintenance("now", "120", "service"))
    resumed = ready.start(
        user, "sh", "-c", "exec .venv/bin/assay run --resume results/tiny/* --plain"
    )
    try:
        resumed.until_shown("waits since", "a launch that waits")
    finally:
        ready.admin("scontrol", "delete", "reservation=service")
    assert resumed.end() == 0
    assert all_ok(ready, user, 4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"--account=\w+", "--account=nobody", r"account"),
        (r"modules: \[[^\]]*\]", "modules: [no-such/1.0]", r"no-such/1\.0"),
        (r"work_dir: \S+", "work_dir: /tmp/assay-login", r"/tmp/assay-login"),  # noqa: S108
    ],
    ids=["account", "module", "work folder"],
)
def test_a_wrong_site_is_told_and_records_nothing(ready, site, old, new, said):
    user = ready.users()[0]
    assert re.search(old, site)
    ready.write(user, f"site-config/{NAME}/site.yaml", re.sub(old, new, site, count=1))
    done = ready.user(user, " ".join(tiny(ready, site)))
    assert done.returncode in (2, 4)
    assert re.search(said, done.stdout + done.stderr)
    assert not any(
        path.stat().st_size for path in (ready.home(user) / "results").glob("tiny/*/records.jsonl")
    )


def test_cron_measures_each_mpi_behind_a_compiler(ready, site):
    found = yaml.safe_load(site)["environments"]
    assert [one["modules"][0] for one in found.values()] == ["compiler/gcc-12"] * 2
    ready.cron_measures_every_mpi(ready.users()[0], NAME, list(found))


def test_the_callers_shell_changes_nothing_inside_a_job(ready, site):
    """Every variable of a launch, by its job and by the provenance, from two unlike shells."""
    user, name = ready.users()[0], environment(site)
    whole = yaml.safe_load(site)
    whole["environments"][name]["prepare"] = ['env -0 >"$HOME/assay/job.env"']
    ready.write(user, f"site-config/{NAME}/site.yaml", yaml.safe_dump(whole, sort_keys=False))
    other = next(one["modules"] for key, one in whole["environments"].items() if key != name)
    polluted = (
        f"module load {' '.join(other)}; export LD_LIBRARY_PATH=/opt/other/lib OMPI_MCA_btl=self"
        " UCX_TLS=self FI_PROVIDER=none PMI_RANK=7 SLURM_CPU_BIND=none SBATCH_EXPORT=NONE"
        " CPATH=/opt/other"
    )
    found = []
    for shell in (f"{polluted};", "env -i HOME=$HOME LOGNAME=$LOGNAME PATH=/usr/bin:/bin"):
        done = ready.user(user, f"{shell} {' '.join(tiny(ready, site))}")
        assert done.returncode == 0, done.stderr
        assert ("not taken from this shell: CPATH, FI_PROVIDER" in done.stderr) == (not found)
        (kept,) = (ready.home(user) / "results" / "tiny").glob("*/provenance.json")
        variables = (ready.home(user) / "job.env").read_text().split("\0")
        of_the_run = "SLURM|ASSAY_|TMPDIR=|PWD=|OLDPWD=|HOSTNAME=|_="
        inside = {line for line in variables if not re.match(of_the_run, line)}
        as_run = json.loads(kept.read_text())["environments"][name]
        assert other[-1] not in as_run["modules_loaded"]
        found.append((inside, as_run))
    (polluted_job, polluted_run), (bare_job, bare_run) = found
    assert polluted_job ^ bare_job == set()
    assert polluted_run == bare_run
