# SPDX-License-Identifier: Apache-2.0
"""`assay profile` on real programs of known calls, with the MPI libraries of this machine."""

from functools import cache
from pathlib import Path

import msgspec
import pytest

from assay.cli import main
from checks.common.tests.program_runs import ran, require, written_script
from plugins.profile.application_profile import MOST_IN_MPI, read_profile
from plugins.profile.collecting import Recording, profile_of
from plugins.profile.program import SOURCES as LIBRARY_SOURCES
from setup.tests.needs import needs

#: Ranks may share cores: of Open MPI 4, and of what later ones start ranks with.
OVERSUBSCRIBED = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
SOURCES = Path(__file__).parent / "profiled"
LIBRARIES = [pytest.param("openmpi", marks=pytest.mark.full), "mpich"]
RING = {"Irecv": (20, 800), "Isend": (20, 800), "Allreduce": (20, 8), "Waitall": (20, 0)}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Gives known.LIBRARY or ring.MODULE.LIBRARY, compiled when it is asked for first."""
    folder = tmp_path_factory.mktemp("programs")

    @cache
    def compiled(name):
        _, *module, library = name.split(".")
        of_module = [word for one in module for word in ("-cpp", f"-D{one}")]
        compiler, source = ("mpif90", "ring.f90") if module else ("mpicc", "known.c")
        return compile_with(f"{compiler}.{library}", source, folder / name, *of_module)

    return compiled


@pytest.fixture(scope="module")
def of_two(program):
    """Gives the profile of two ranks of known.LIBRARY."""

    def profile(library, *words, status=0):
        words = ("-np", "2", program(f"known.{library}"), *words)
        return profiled(f"mpirun.{library}", *words, status=status)

    return profile


def compile_with(compiler, source, program, *options):
    require(compiler)
    ran([compiler, "-O2", "-o", program, SOURCES / source, *options], cwd=program.parent)
    return str(program)


@pytest.fixture(autouse=True)
def in_folder(folder, monkeypatch):
    allowed = "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"
    further = dict.fromkeys((*allowed, "OMPI_MCA_mpi_yield_when_idle"), "1")
    for name, value in {**OVERSUBSCRIBED, **further}.items():
        monkeypatch.setenv(name, value)


def profiled(*command, status=0):
    assert main(["profile", "--", *command]) == status
    assert not list(Path().glob("assay-profile-*"))
    return read_profile(Path("profile.json"))


def call_of(profile, name):
    return next(one for one in profile.calls if one.call == name and one.greatest_bytes)


@pytest.mark.full
@pytest.mark.parametrize("module", ["MPI", "F08"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_fortran_programs_calls_are_counted(program, library, module):
    profile = profiled(f"mpirun.{library}", "-np", "2", program(f"ring.{module}.{library}"))
    assert {one.call: (one.count, one.greatest_bytes) for one in profile.calls} == RING
    assert (profile.complete, profile.ranks, profile.nodes) == (True, 2, 1)
    assert {one.nodes for one in profile.calls if one.greatest_bytes} == {1}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_late_sender_is_wait_of_the_receiver_alone(of_two, library):
    profile = of_two(library, "late")
    receive, send = call_of(profile, "Recv"), call_of(profile, "Send")
    assert receive.sampled == receive.count == 20
    assert receive.wait_s > 0.15  # of 0.2 s that the sender sleeps
    assert send.wait_s < receive.wait_s / 2


def test_messages_that_came_before_they_were_asked_for_are_counted(of_two):
    for what, ahead in (("early", range(11, 21)), ("late", range(10))):
        profile = of_two("mpich", what)
        (received,) = (one for one in profile.calls if one.call == "Recv" and one.greatest_bytes)
        assert received.ahead in ahead  # of 20; a rank may be stopped for 10 ms before its call


@pytest.mark.full
def test_a_late_rank_is_wait_of_the_others_in_a_collective_call(of_two):
    profile = of_two("openmpi", "barrier")
    (barrier,) = (one for one in profile.calls if one.call == "Barrier")
    assert (barrier.count, barrier.sampled, barrier.ranks) == (40, 40, 2)
    assert 0.15 < barrier.wait_s <= barrier.time_s


@pytest.mark.full
def test_what_can_overlap_is_the_time_between_posting_and_waiting(of_two):
    profile = of_two("openmpi", "overlap")
    for name in ("Irecv", "Isend"):
        assert call_of(profile, name).outside_s > 40 * 0.009
    assert profile.outside_s.least > 0.18


def test_sends_that_share_a_request_are_told_apart(of_two):
    # MPICH gives all sends that are complete at once the same handle.
    profile = of_two("mpich", "together")
    sends = [one for one in profile.calls if one.call == "Isend"]
    assert [(one.greatest_bytes, one.count) for one in sends] == [(1, 20), (2, 20), (3, 20)]
    assert [one.sampled for one in sends] == [20, 20, 20]


@pytest.mark.full
def test_many_sizes_stay_small_and_no_call_is_lost(of_two):
    profile = of_two("openmpi", "sizes", "5000")
    assert Path("profile.json").stat().st_size < 1 << 20
    sends = [one for one in profile.calls if one.call == "Isend"]
    assert sum(one.count for one in sends) == 10_000
    assert sum(one.bytes for one in sends) == 2 * sum(range(5000))
    assert max(one.greatest_bytes for one in sends) == 4999
    merged = "the program has many message sizes: they are merged up to powers of two"
    assert merged in profile.notes


@pytest.mark.parametrize(("what", "least"), [("killed", 20), ("abort", 1)])  # in half of its time
def test_a_program_that_ends_early_leaves_its_profile_so_far(of_two, what, least, capsys):
    profile = of_two("mpich", what, status=1)
    assert not profile.complete
    assert call_of(profile, "Isend").count >= least
    assert "ended with status" in capsys.readouterr().out


@pytest.mark.parametrize("library", LIBRARIES)
def test_types_of_gibibytes_are_counted_absent_ones_too(of_two, library):
    profile = of_two(library, "absent")
    assert call_of(profile, "Send").greatest_bytes == 1 << 32
    assert call_of(profile, "Gather").bytes == 1


@pytest.mark.full
def test_parts_of_a_command_and_scripts_are_profiled(program, capsys):
    known = program("known.mpich")
    part = ["-np", "1", known, "late"]
    assert profiled("mpirun.mpich", *part, ":", *part).ranks == 2
    assert profiled(known, "barrier").ranks == 1
    line = f"mpirun.mpich -np 2 {known} barrier\n"
    written_script(Path("script"), line)
    for command in (["./script"], ["sh", "./script"], ["sh", "-c", line]):
        assert main(["profile", "--mpicc", "mpicc.mpich", "--", *command]) == 0
    written_script(Path("script"), 2 * line)
    assert main(["profile", "--mpicc", "mpicc.mpich", "--", "./script"]) == 2
    assert "recordings of several launches" in capsys.readouterr().err


def test_what_cannot_be_written_is_said_first(program, capsys):
    for name in (".", "none/profile.json"):
        words = ["profile", "--output", name, "--", "mpirun.mpich", "-np", "2"]
        assert main([*words, program("known.mpich"), "barrier"]) == 4
        assert f"{name}: cannot be written" in capsys.readouterr().err


@pytest.mark.full
def test_a_program_with_the_profile_linked_in_needs_none_preloaded(tmp_path):
    made = ["make", "-s", "-C", LIBRARY_SOURCES, "CC=mpicc.mpich", f"OUT={tmp_path}"]
    ran([*made, str(tmp_path / "profile.o")])
    compile_with("mpicc.mpich", "known.c", tmp_path / "known", str(tmp_path / "profile.o"))
    assert call_of(profiled("mpirun.mpich", "-np", "2", "./known", "late"), "Recv").sampled == 20
    compile_with("mpicc.mpich", "known.c", tmp_path / "plain")
    parts = [["-np", "1", program, "late"] for program in ("./known", "./plain")]
    for one, other in (parts, reversed(parts)):
        profile = profiled("mpirun.mpich", *one, ":", *other)
        assert (profile.ranks, profile.notes) == (2, [])


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_time_in_calls_of_mpi_3_is_time_in_mpi(of_two, library):
    profile = of_two(library, "later")
    found = {one.call: (one.count, one.bytes) for one in profile.calls}
    calls = ("Ialltoallv", "Igatherv", "Iscatterv", "Iallgatherv", "Rput")
    assert [found[name] for name in calls] == [(2, 16)] * len(calls)
    assert found["Ireduce_scatter"] == (2, 32)
    windows = {"Win_allocate", "Win_lock_all", "Win_flush_all", "Win_unlock_all", "Win_free"}
    assert windows | {"Neighbor_alltoallv", "Fetch_and_op"} <= found.keys()
    exchange = call_of(profile, "Ialltoallv")
    assert 0.15 < exchange.wait_s <= exchange.completing_s  # of 0.2 s that rank 1 sleeps


@pytest.mark.full
@pytest.mark.parametrize("by_script", [False, True])
def test_of_a_spawning_program_the_ranks_that_were_started_are_profiled(program, capfd, by_script):
    # Debian's MPICH refuses MPI_Comm_spawn. What a script starts inherits what is preloaded.
    words = ["mpirun.openmpi", "-np", "2", program("known.openmpi"), "spawn"]
    script = ["--mpicc", "mpicc.openmpi", "--", "sh", "-c", " ".join(words)]
    assert main(["profile", *(script if by_script else ["--", *words])]) == 0
    profile = read_profile(Path("profile.json"))
    assert (profile.ranks, profile.complete) == (2, True)
    assert call_of(profile, "Send").count == 1
    assert "the ranks that MPI_Comm_spawn started are not in the profile" in profile.notes
    assert '"assay"' not in capfd.readouterr().out


@pytest.mark.parametrize("mpi_s", [1.03, 1.06])
def test_threads_in_mpi_at_once_are_noted(mpi_s):
    fixed = {"assay": "recording", "rank": 0, "ranks": 1, "node": 0, "nodes": 1, "library": ""}
    fixed |= {"complete": True, "unordered": False, "elapsed_s": 1.0, "mpi_s": mpi_s, "level": 0}
    entries = [["Wait", 0, 0, 0, 0, 0, 1, mpi_s, 0, 0]]
    lists = {"clock": [0, 0, 0], "samples": [], "entries": entries}
    profile = profile_of([msgspec.convert(fixed | lists, Recording)], [], None)
    noted = any("several threads" in note for note in profile.notes)
    assert noted == profile.threads == (mpi_s > MOST_IN_MPI)


@needs("cc", "mpirun.mpich")
def test_a_statically_linked_program_is_refused_with_the_remedy(capsys):
    # No distribution's archive of MPI links; what tells is MPI_Init inside the program.
    text = "int MPI_Init(int *count, char ***words) { return !count && !words; }"
    Path("static.c").write_text(f"{text}\nint main(void) {{ return MPI_Init(0, 0); }}\n")
    ran(["cc", "-static", "-o", "static", "static.c"])
    assert main(["profile", "--", "mpirun.mpich", "-np", "2", "./static"]) == 2
    said = capsys.readouterr().err
    assert "linked statically with MPI" in said
    assert "profile.o" in said


@needs("mpirun.mpich")
@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("-- mpirun.mpich -np 2 /bin/ls", "is linked with an MPI library"),
        ("-- mpirun.mpich -np 2", "is linked with an MPI library"),
        ("--", "no command"),
        ("-- no-such-launcher x", "no-such-launcher: no such program"),
        ("-- mpirun.mpich -np 2 sh -c true", "no rank wrote a profile"),
        ("--show profile.json -- true", "give a command or --show FILE, not both"),
    ],
)
def test_what_cannot_be_profiled_is_refused(words, fault, capsys):
    assert main(["profile", *words.split()]) == 2
    assert fault in capsys.readouterr().err
    assert not [*Path().iterdir()]
