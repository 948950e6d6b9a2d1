# SPDX-License-Identifier: Apache-2.0
"""`assay vet` as Slurm calls it, and inside a job; faults of the vetting itself, of Slurm and of
the folder drain no node that Slurm has."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay import ROOT
from assay.tests.test_run_on_cluster import ASSAY, pytestmark, wait_for
from checks.common.slurm.commands import fields
from plugins.vetting.judge import KindReference, Level, Reference, Vetting, vetting_of
from plugins.vetting.local import build_program, program_path
from records.errors import ExitStatus
from records.files import write_whole
from records.forms import as_bytes
from records.site.node_facts import facts_by_value, kinds_of
from virtual_cluster.api import Cluster
from virtual_cluster.host import SLURM_CONF, SYSTEM_PATH, end
from virtual_cluster.namespaces import to_user
from virtual_cluster.state import folders, load_state
from virtual_cluster.tests.clusters import made, needs_own_python, run_in

#: The `assay` of these tests on hosts of a cluster.
OWN = "/cluster/bin/assay"
__all__ = ["pytestmark"]
PAGE = Path(__file__).parents[1] / "docs" / "vetting.md"
SITE = """\
schema: 2
name: mysite
vetting: {{folder: {folder}, drain: true, drains_per_hour: 1}}
partitions: {{all: {{nodes: 3, cores_per_node: 1, memory_bytes_per_node: 1000000000}}}}
environments:
  ours: {{description: an MPI, compiler: cc, launcher: assay-srun, library: ^x}}
"""
PAST = "2020-01-01T00:00:00Z"
#: Runs words in a mount namespace where the first is a FUSE file system that never answers.
HUNG = """\
import ctypes, os, subprocess, sys
fd = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
if ctypes.CDLL(None).mount(b"assay", sys.argv[1].encode(), b"fuse", 0, options):
    sys.exit("cannot mount")
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""
#: Where that is, in a /tmp of the node's own: mounts below /var are the system's.
MOUNT = "/tmp/vet-mount"  # noqa: S108
MAKE = f'mkdir -p {MOUNT}; exec "$@"'
#: The same with other file systems, and with a program in the place of the measuring one.
FULL = 'mount -t tmpfs -o size=64k assay "$1"; head -c 64k /dev/zero >"$1/zeros"; shift; exec "$@"'
READ_ONLY = 'mount --bind "$PWD" "$PWD"; mount -o remount,ro,bind "$PWD"; shift; exec "$@"'
REPLACED = f'mount --bind ./program {program_path()}; shift; exec "$@"'
HAS_FUSE = os.access("/dev/fuse", os.R_OK | os.W_OK)
#: In the holder: lets hosts use file systems of programs.
FUSE = 'touch "$1" && mount --bind /dev/fuse "$1"'
#: Another program on the node, which ends with its input. It prints when it is ready.
SILENT = (
    "import socket, sys; one = socket.socket(); one.bind(('127.0.0.1', 28999)); one.listen();"
    " print(flush=True); sys.stdin.read()"
)
LIE = """echo '{"assay": "error", "message": "wrong sum"}'"""
ONCE = """\
rm "$TMPDIR/seen" && exit 1; touch "$TMPDIR/seen"
echo '{"assay": "metric", "name": "memory_latency", "unit": "s", "value": 1e3}'
"""
Ended = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Fault:
    """What the line says; the words of the vetting; files that are written first (None: removed,
    a path ending in "/": a folder), a process beside, what the vetting runs in, when the reference
    was made, and whether the node would be drained."""

    said: str
    words: Sequence[str] = ("--steps=facts",)
    files: Mapping[str, str | None] = field(default_factory=dict)
    beside: str = ""
    inside: str = ""
    made_at: str = PAST
    unfit: bool = False


UNREADABLE = "the reference cannot be read"
NOT_DONE = "not drained or resumed: "
LATENCY, DISK = ("--steps=latency",), ("--steps=disk", "--disk={mount}")
LINK = ("--steps=link", "--neighbour=127.0.0.1")
FAULTS = {
    "no reference": Fault("no reference", files={"reference.json": None}),
    "a reference cut off": Fault(UNREADABLE, files={"reference.json": '{"made_at": 7'}),
    "an empty reference": Fault(UNREADABLE, files={"reference.json": ""}),
    "a reference that is a folder": Fault(UNREADABLE, files={"reference.json/": ""}),
    "a clock set back": Fault("the clock is wrong", made_at="2199-01-01T00:00:00Z"),
    "no folder of records": Fault("no record", files={"records": ""}),
    "a folder that hangs": Fault(
        "did not end within 13 s", ("--steps=facts", "--folder={mount}", "--budget=1"), inside=HUNG
    ),
    "a full folder": Fault("no record", ("--steps=facts", "--folder={mount}"), inside=FULL),
    "a mount that hangs": Fault("does not answer", inside=HUNG),
    "a disk that hangs": Fault("does not answer", DISK, inside=HUNG),
    "a full /tmp": Fault("No space left on device", DISK, inside=FULL),
    "no folder for the disk": Fault("No such file", ("--steps=disk", "--disk=/nowhere")),
    "an unknown neighbour": Fault("link: ", ("--steps=link", "--neighbour=nowhere.invalid")),
    "a neighbour that refuses": Fault("link: ", (*LINK, "--port=1")),
    "a silent neighbour": Fault(
        "link did not answer within", (*LINK, "--port=28999", "--budget=12"), beside=SILENT
    ),
    "a budget used up": Fault("the budget of 1 s is used up", ("--steps=memory", "--budget=1")),
    "a damaged site": Fault("site.yaml", files={"site-config/mysite/site.yaml": "name: ["}),
    **{
        name: Fault(said, (*LATENCY, *more), files={"program": program}, inside=REPLACED)
        for name, said, program, *more in (
            ("a hang", "latency did not answer within", "exec sleep 1000", "--budget=12"),
            ("a kill", "latency: ", "kill -9 $$"),
            ("an error", "latency: wrong sum", LIE),
            ("a second look that fails", "latency: status 1; memory latency", ONCE),
        )
    },
    "a read-only folder": Fault(NOT_DONE, inside=READ_ONLY, unfit=True),
    "killed as it asks Slurm": Fault(
        "the vetting was killed", files={"bin/scontrol": "kill -9 $PPID"}, unfit=True
    ),
    "Slurm that refuses": Fault(
        NOT_DONE, files={"bin/scontrol": "echo 'Access denied' >&2; exit 1"}, unfit=True
    ),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    build_program()
    with made("vf", nodes=3, cpus_per_node=1) as cluster:
        cluster.show([ROOT, Path(sys.prefix)])
        if HAS_FUSE:
            words = ["sh", "-c", FUSE, "sh", f"{folders(cluster.name).view}/dev/fuse"]
            subprocess.run(cluster.admin_command(words, "holder"), check=True)
        yield cluster


def state_of(cluster: Cluster, node: str) -> str:
    return fields(run_in(cluster, "scontrol", "show", "node", node, "--oneliner"))["State"]


def on_n1(cluster: Cluster, folder: Path, *words: str, within: Sequence[str] = ()) -> list[str]:
    """Words that run on n1 as Slurm runs its programs, in the folder; `within`: words before them
    that run with all rights there."""
    path = f"PATH={folder}/bin:{SYSTEM_PATH}"
    facts = [f"SLURM_CONF={SLURM_CONF}", "SLURMD_NODENAME=n1", path]
    given = ["env", "-i", "-C", str(folder), "HOME=/", "LANG=C.UTF-8", *facts]
    inside = ["env", "-C", str(folder), *within] if within else []
    return cluster.admin_command([*inside, *to_user(cluster._state), *given, *words], "n1")


def ended(argv: Sequence[str]) -> Ended:
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=240)


def write_reference(folder: Path, vetting: Vetting, made_at: str = PAST, **further: str) -> None:
    """As if four nodes like this one had been slower, and had these facts too."""
    known = facts_by_value({"n9": vetting.facts}) | {k: {v: ["n9"]} for k, v in further.items()}
    level = Level(centre=10.0, spread=0.5, noise=0.5, freedom=20, worst=0, nodes=4, vettings=20)
    kind = KindReference(levels={"memory_latency": level}, facts=known)
    kinds = {kinds_of({"n9": vetting.facts}).get("n9", ""): kind}
    write_whole(folder / "reference.json", as_bytes(Reference(made_at=made_at, kinds=kinds)))


def prepared(cluster: Cluster, name: str, *, unfit: bool, made_at: str = PAST) -> Path:
    """A folder of vettings with a site of its own, for which n1 is fit, or has lost a mount."""
    folder = Path(cluster.site_facts()["work_dir"]) / name
    (folder / "site-config" / "mysite").mkdir(parents=True)
    (folder / "site-config" / "mysite" / "site.yaml").write_text(SITE.format(folder=folder))
    words = [OWN, "vet", "--local", "--json", "--unkept", "--steps=facts"]
    vetting = vetting_of(ended(on_n1(cluster, folder, *words)).stdout)
    lost = {"file_systems./scratch": "lustre"} if unfit else {}
    write_reference(folder, vetting, made_at, **lost)
    return folder


def vet(cluster: Cluster, folder: Path, *words: str, inside: str = "") -> Ended:
    """How `assay vet` ends on n1 as Slurm's prolog."""
    argv = [OWN, "vet", "--local", "--site=mysite", "--drain", "--by-slurm"]
    argv += [word.replace("{mount}", MOUNT) for word in words]
    if not inside:
        return ended(on_n1(cluster, folder, *argv))
    program = ["/usr/bin/python3", "-c", HUNG] if inside == HUNG else ["sh", "-ec", inside, "sh"]
    space = ["unshare", "--mount", "--propagation=private"]
    within = ["sh", "-c", MAKE, "sh", *space, *program, MOUNT]
    return ended(on_n1(cluster, folder, "env", f"TMPDIR={MOUNT}", *argv, within=within))


def test_without_a_fault_a_fit_node_is_not_drained_and_an_unfit_one_is(cluster: Cluster) -> None:
    said = vet(cluster, prepared(cluster, "fit", unfit=False), "--steps=facts").stdout
    assert " is fit: " in said
    assert "DRAIN" not in state_of(cluster, "n1")
    said = vet(cluster, prepared(cluster, "unfit", unfit=True), "--steps=facts").stdout
    assert "drained, reason: assay: file_systems./scratch is none, not lustre" in said
    assert "DRAIN" in state_of(cluster, "n1")
    run_in(cluster, "scontrol", "update", "NodeName=n1", "State=RESUME")


@pytest.mark.full(sample=2)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_vetting_itself_drains_no_node(cluster: Cluster, name: str) -> None:
    fault = FAULTS[name]
    if fault.inside == HUNG and not HAS_FUSE:
        pytest.skip("/dev/fuse is not there, or not for this user")
    folder = prepared(cluster, re.sub(r"\W", "-", name), unfit=fault.unfit, made_at=fault.made_at)
    for path, content in fault.files.items():
        place = folder / path.rstrip("/")
        place.unlink(missing_ok=True)
        if path.endswith("/"):
            place.mkdir()
        elif content is not None:
            place.parent.mkdir(exist_ok=True)
            script = "#!/bin/sh\n" * (place.name in {"program", "scontrol"})
            place.write_text(script + content)
            place.chmod(0o755)
    other = on_n1(cluster, folder, "/usr/bin/python3", "-c", fault.beside or "print()")
    with subprocess.Popen(other, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as beside:
        assert beside.stdout
        beside.stdout.readline()
        called = vet(cluster, folder, *fault.words, inside=fault.inside)
    assert called.returncode == 0, called.stderr
    (line,) = called.stdout.splitlines()
    word = "unfit" if fault.unfit and "was killed" not in line else "suspect"
    assert line.startswith(f"n1 is {word}: ")
    assert fault.said in line
    assert not (folder / "drains.jsonl").exists()
    assert "DRAIN" not in state_of(cluster, "n1")


@needs_own_python()
def test_a_history_that_cannot_be_read_drains_no_node_and_is_named(cluster: Cluster) -> None:
    folder = prepared(cluster, "history", unfit=True)
    (folder / "history.sqlite").write_text("no history")
    words = [OWN, "vet", "--site=mysite", "--drain", "--steps=facts", "n1"]
    asked = ended(on_n1(cluster, folder, *words))
    (line,) = asked.stdout.splitlines()
    assert "n1 is unfit: file_systems./scratch is none, not lustre" in line
    (line,) = asked.stderr.splitlines()
    assert "vet: no new reference and no drain: " in line
    assert asked.returncode == ExitStatus.FAIL
    assert not (folder / "drains.jsonl").exists()
    assert "DRAIN" not in state_of(cluster, "n1")


def in_job(cluster: Cluster, nodes: int, *words: str) -> Ended:
    folder = f"--folder={cluster.site_facts()['home_dir']}/job"
    argv = ["salloc", "--quiet", f"-N{nodes}", OWN, "vet", "--job", folder, *words]
    return ended(cluster.user_command(argv))


def test_inside_a_job_the_good_nodes_are_listed_for_what_follows(cluster: Cluster) -> None:
    called = in_job(cluster, 2, "--steps=facts")
    assert called.returncode == 3, called.stderr
    assert "good n[1-2]" in called.stdout.splitlines()


def test_inside_a_job_each_node_measures_its_link_to_others_of_the_job(cluster: Cluster) -> None:
    called = in_job(cluster, 3, "--steps=facts,link", "--json")
    found = [vetting_of(line) for line in called.stdout.splitlines()]
    linked = {one.node: one for one in found if one.figures}
    assert {*linked} == {"n1", "n2", "n3"}, called.stderr
    for node, one in linked.items():
        assert {figure.metric for figure in one.figures} == {"link_in", "link_out"}
        assert {node, *one.neighbour.split(",")} == {*linked}


def test_the_lines_of_the_page_drain_an_unfit_node_and_resume_it(cluster: Cluster) -> None:
    nodes, folder = cluster.site_facts()["nodes"], prepared(cluster, "vettings", unfit=True)
    block = re.search(r"```text file=assay-vet\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = re.search(r"```\n(HealthCheckProgram=.*?)```", PAGE.read_text(), re.DOTALL)
    assert block and lines
    script = folder / "assay-vet"
    text = block[1].replace("/shared/assay/.venv/bin/assay", OWN)
    text = text.replace("/var/log/assay-vet.log", f"{folder}/log")
    text = text.replace("facts,memory,arithmetic,latency", "facts")
    head = f"#!/bin/sh\nexport SLURM_CONF={SLURM_CONF} PATH=/usr/bin:/bin; cd {folder}\n"
    script.write_text(text.replace("#!/bin/sh\n", head))
    script.chmod(0o755)
    settings = lines[1].replace("/shared/assay-vet", str(script)).replace("3600", "4")
    settings = settings.replace("IDLE,CYCLE", "ANY,CYCLE")
    with (folders(cluster.name).root / "etc" / "slurm.conf").open("a") as file:
        file.write("\n".join(one for one in settings.splitlines() if "Epilog" not in one) + "\n")
    run_in(cluster, "scontrol", "reconfigure")
    log = folder / "log"
    # The log has a drain before Slurm does it, and says then of another node why it is none.
    wait_for(lambda: any("DRAIN" in state_of(cluster, n) for n in nodes))
    wait_for(lambda: "at most 1 drain an hour" in log.read_text())
    (drained,) = [n for n in nodes if "DRAIN" in state_of(cluster, n)]  # one: the cap
    shown = run_in(cluster, "scontrol", "show", "node", drained, "-o")
    assert "assay: file_systems./scratch is none, not lustre" in shown
    record = next((folder / "records" / drained).iterdir())
    write_reference(folder, vetting_of(record.read_bytes()))
    # A vetting says so after Slurm has done it.
    wait_for(lambda: "resumed: fit again" in log.read_text())
    assert "DRAIN" not in state_of(cluster, drained)
    run_in(cluster, "srun", "--mpi=none", "-w", drained, "true")  # through the prolog


@pytest.mark.full
def test_a_dead_controller_drains_no_node_and_is_named(cluster: Cluster) -> None:
    folder = prepared(cluster, "dead", unfit=True)
    state = load_state(cluster.name)
    assert state and end(state.processes["slurmctld"])  # the last test: nothing answers from now on
    called = vet(cluster, folder, "--steps=facts")
    site = ["--site", f"virtual:{cluster.name}", "--folder", str(folder)]
    asked = ended([ASSAY, "vet", *site, "n1"])
    assert called.returncode == 0, called.stderr
    (line,) = called.stdout.splitlines()
    assert "n1 is unfit: file_systems./scratch is none, not lustre" in line
    assert "; not drained or resumed: Slurm does not say its state" in line
    assert not (folder / "drains.jsonl").exists()
    assert asked.returncode == 4
    assert len(asked.stderr.splitlines()) == 1
