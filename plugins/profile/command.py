# SPDX-License-Identifier: Apache-2.0
"""`assay profile`: run a launcher's command with the profile preloaded, and write one file."""

import argparse
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.cli.arguments import JSON, argument, declared
from assay.terminal import say
from plugins.profile.application_profile import ApplicationProfile, read_profile
from plugins.profile.collecting import profile_of, read_recordings
from plugins.profile.program import build_library, has_profile, program_places
from records.errors import AssayError, ExitStatus, InfrastructureError
from records.forms import as_text
from reports.notation.units import bytes_text, count_text, percent
from reports.render.files import write_file

#: Calls in the summary.
_MOST_CALLS = 8


def profile_command(arguments: argparse.Namespace) -> int:
    """`assay profile`; status 1 if the command failed, whose profile so far is kept."""
    if arguments.show and arguments.words:
        raise AssayError("profile: give a command or --show FILE, not both")
    output = arguments.output or (None if arguments.show else Path("profile.json"))
    if output and (output.is_dir() or not os.access(output.absolute().parent, os.W_OK)):
        raise InfrastructureError(f"{output}: cannot be written; give another: --output FILE")
    status = 0
    if arguments.show:
        profile = read_profile(arguments.show)
    else:
        profile, status = _profiled(arguments)
    if output:
        write_file(as_text(profile), output)
    if arguments.json:
        print(as_text(profile), end="")
    else:
        for line in _summary(profile, output):
            say(line)
    if status:
        say(f"the command ended with status {status}; the profile holds what was noted until then")
    return ExitStatus.FAIL if status else ExitStatus.PASS


def _profiled(arguments: argparse.Namespace) -> tuple[ApplicationProfile, int]:
    """The profile of a command's run, and its exit status."""
    command: list[str] = arguments.words
    places = program_places(command)
    with _folder(arguments.folder) as folder:
        words = [*command]
        library = None
        for place in reversed(places):
            setting = ["env", f"ASSAY_PROFILE_FOLDER={folder}"]
            if not has_profile(Path(shutil.which(command[place]) or "")):
                library = library or build_library(command, place, arguments.mpicc, folder)
                preload = [str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
                setting.append(f"LD_PRELOAD={':'.join(preload)}")
            words[place:place] = setting
        begun = time.monotonic()
        status = _ended(subprocess.Popen(words))
        wall_s = time.monotonic() - begun
        try:
            recordings = read_recordings(folder)
        except AssayError as error:
            if status:
                raise AssayError(f"{error}; the command ended with status {status}") from error
            raise
        return profile_of(recordings, command, wall_s), status


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit status of the command, which gets SIGTERM, too."""
    before = signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    try:
        while True:
            with suppress(KeyboardInterrupt):  # the command got it, too, and ends
                return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _folder(parent: Path) -> Iterator[Path]:
    """A folder for the ranks' files, which all nodes must see; removed afterwards."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="assay-profile-", dir=parent.resolve()))
    except OSError as error:
        raise AssayError(
            f"profile: no folder can be made in {parent} ({error.strerror}); give one that all"
            " nodes see: --folder DIR"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _summary(profile: ApplicationProfile, output: Path | None) -> Iterator[str]:
    """Summary of a profile, in a few lines."""
    whole = profile.elapsed_s.mean
    inside = percent(profile.mpi_s.mean / whole if whole else 0.0)
    ranks, nodes = count_text(profile.ranks, "rank"), count_text(profile.nodes, "node")
    library = f", {profile.library}" if profile.library else ""
    yield f"{ranks} on {nodes}{library}: {whole:.3g} s, {inside} of it in MPI"
    total = sum(one.time_s for one in profile.calls) or 1.0
    for one in sorted(profile.calls, key=lambda call: -call.time_s)[:_MOST_CALLS]:
        size = bytes_text(one.greatest_bytes) if one.greatest_bytes else ""
        place = {1: "in a node", 0: ""}.get(one.nodes, "between nodes")
        wait = "" if one.wait_share is None else f", {percent(one.wait_share)} of it wait"
        words = " ".join(filter(None, [one.call, size, place]))
        calls = count_text(one.count, "call")
        yield f"  {words}: {calls}, {percent(one.time_s / total)} of the time{wait}"
    yield from (f"note: {note}" for note in profile.notes)
    if output:
        yield f"written: {output}"


declare = declared(
    profile_command,
    argument("words WORD", "after --: a launcher, its options, the program", nargs="*"),
    argument("--output FILE", "default: profile.json", type=Path),
    argument("--show FILE", "say what is in a profile", type=Path),
    argument("--mpicc CC", "compiler of the program's MPI library; default: found"),
    argument(
        "--folder DIR",
        "where the ranks write meanwhile, seen by all nodes; default: here",
        type=Path,
        default=Path(),
    ),
    JSON,
)
