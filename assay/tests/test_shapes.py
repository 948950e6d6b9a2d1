# SPDX-License-Identifier: Apache-2.0
"""What can never run is refused before anything is run; what may run later is not."""

import pytest
from msgspec import structs

from assay.plan import make_plan
from assay.run.infrastructure import asked
from assay.run.shapes import partition_limits, refuse_unfit_shapes
from assay.schema import campaign_from_text
from assay.sites.loading import ADDRESSES, SlurmSite
from assay.sites.site import SiteFacts
from assay.sites.site_file import chosen, read_site_file
from records.errors import AssayError

SITE = SiteFacts("s", 4, 1, 10**9, {"a": {"mpi"}, "b": {"mpi"}})
UNAVAILABLE = "allocation failure: Requested node configuration is not available"
CAMPAIGN = """
schema: 1
name: shapes
question: do they fit?
environments: [a]
cases:
  - check: startup
    matrix: {ranks: [1, 2, 3]}
    fixed: {ranks_per_node: 1}
limits: {launch_s: 100}
"""
PARTITION = (
    "PartitionName=all MaxNodes={nodes} MaxTime={time} Nodes=n[1-4] State=UP TotalNodes=4"
    " TRES=cpu=4,node=4"
)
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"


class Answering(SlurmSite):
    """A site whose Slurm commands are scripts of the test, in a folder that comes first in PATH."""

    programs = None

    def command(self, argv, variables, folder=None):
        argv, environment = super().command(argv, variables, folder)
        return argv, {**environment, "PATH": f"{self.programs}:{environment['PATH']}"}


@pytest.fixture
def site(tmp_path):
    """A site of four nodes in service, whose sbatch has nothing against any job."""
    made = Answering(chosen(read_site_file("virtual")))
    made.programs = tmp_path
    partition_of(made, "UNLIMITED")
    say(made, "sbatch", 'printf "%s\\n" "$*" >> "$0.asked"')
    say(made, "sinfo", "printf 'n%s idle\\n' 1 2 3 4")
    say(made, "squeue", ":")
    return made


def say(site, program, script):
    path = site.programs / program
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def refused_by(site, message):
    say(site, "sbatch", f"cat >&2 <<'EOT'\n{message}\nEOT\nexit 1")


def plan():
    return make_plan(campaign_from_text("shapes.yaml", CAMPAIGN), SITE)


def partition_of(site, nodes="4", time="UNLIMITED"):
    say(site, "scontrol", f"echo '{PARTITION.format(nodes=nodes, time=time)}'")


def notes(site):
    return refuse_unfit_shapes(site, plan(), *partition_limits(site))


def test_each_shape_is_asked_for_once_with_the_options_of_the_site_and_no_others(site):
    assert notes(site) == []
    lines = (site.programs / "sbatch.asked").read_text().splitlines()
    common = "--test-only --output=/dev/null --partition=all"
    assert lines == [
        f"{common} --ntasks={n} --ntasks-per-node=1 --time=3:40 --exclusive --wrap=true"
        for n in (1, 2, 3)
    ]


def test_of_sbatchs_variables_account_qos_and_reservation_become_options(site, monkeypatch):
    """ReFrame submits without variables of sbatch: probes and tests must not have them either."""
    for name, value in (("ACCOUNT", "mine"), ("RESERVATION", "night"), ("CONSTRAINT", "fat")):
        monkeypatch.setenv(f"SBATCH_{name}", value)
    # Addresses of notifications hold passwords, and what sbatch inherits a job inherits.
    monkeypatch.setenv(ADDRESSES, "slack://geheim")
    say(site, "sbatch", "env | grep -e ^SBATCH_ -e geheim >&2; echo")
    described = site.description.model_copy(update={"access": ["--account=the-sites"]})
    one = Answering(described)
    one.programs = site.programs
    options = ["--account=mine", "--reservation=night", "--account=the-sites"]
    assert one.session_data()["access"] == options
    assert one.without_nodes(["n1"]).description.access == [*options, "--exclude=n1"]
    for answer in (one.ask(["sbatch"]), asked(one, "sbatch")):
        assert (answer.status, answer.stderr) == (0, "")
    monkeypatch.setenv("SBATCH_QOS", "a b")
    with pytest.raises(AssayError, match=r"SBATCH_QOS: found 'a b', allowed are letters"):
        SlurmSite(described)


def test_the_job_fits_the_longest_of_the_partition(site):
    assert partition_limits(site)[1] is None
    partition_of(site, time="00:03:00")
    assert partition_limits(site)[1] == 180
    notes(site)
    assert "--time=3:0 " in (site.programs / "sbatch.asked").read_text()


def test_what_the_case_asks_for_is_named_where_no_node_has_it(site):
    gpus = {"gpu": ["--gres=gpu:{count}"]}
    site.description = site.description.model_copy(update={"resources": gpus})
    cases = [structs.replace(case, resources={"gpu": {"count": 9}}) for case in plan().cases]
    refused_by(site, UNAVAILABLE)
    with pytest.raises(AssayError, match=r"--gres=gpu:9.*Correct what the case asks for"):
        refuse_unfit_shapes(site, structs.replace(plan(), cases=cases), None, None)


def test_a_case_that_takes_longer_than_the_longest_job_is_refused(site):
    partition_of(site, time="00:00:10")
    with pytest.raises(AssayError, match="ends jobs after") as caught:
        notes(site)
    assert caught.value.status == 2


@pytest.mark.parametrize(
    "reason",
    [
        "allocation failure: Invalid account or account/partition combination specified",
        "allocation failure: Invalid qos specification",
        UNAVAILABLE,
        f"allocation failure: {POLICY}",
        f"sbatch: error: QOSMaxWallDurationPerJobLimit\nallocation failure: {POLICY}",
    ],
)
def test_what_slurm_will_never_run_is_refused_with_its_reason(site, reason):
    refused_by(site, reason)
    with pytest.raises(AssayError, match="Nothing was run") as caught:
        notes(site)
    assert caught.value.status == 2
    assert reason.splitlines()[-1] in str(caught.value)


def test_an_unknown_partition_is_named_with_those_there_are(site):
    say(site, "scontrol", "echo 'Partition all not found' >&2; exit 1")
    say(site, "sinfo", "printf 'batch\\ndebug\\n'")
    with pytest.raises(AssayError, match="no partition all; it has batch, debug"):
        partition_limits(site)


@pytest.mark.parametrize(
    ("reason", "program", "script"),
    [
        (UNAVAILABLE, "sinfo", "printf 'n%s idle\\n' 1 2 3; echo n4 drained"),
        (f"allocation failure: {POLICY}", "squeue", "echo 17"),
        (f"sbatch: error: AssocMaxSubmitJobLimit\nallocation failure: {POLICY}", "squeue", ":"),
        ("allocation failure: Unable to contact slurm controller", "squeue", ":"),
        ("allocation failure: Job can not start due to maintenance reservation.", "squeue", ":"),
    ],
)
def test_what_may_run_later_is_told_and_not_refused(site, reason, program, script):
    refused_by(site, reason)
    say(site, program, script)
    assert [reason.splitlines()[-1] in note for note in notes(site)] == [True] * len(notes(site))
    assert notes(site)
