# SPDX-License-Identifier: Apache-2.0
"""The steps of a vetting on this node: facts by the probe's script, figures by the C program."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from assay import IS_CLONE, ROOT
from assay.commands import run_command
from assay.probe.node_text import node_facts
from checks.common.sources import CHECKS, LIBRARY, c_sources
from plugins.vetting.judge import METRICS, Figure, Step
from records.errors import AssayError, InfrastructureError
from records.site.node_facts import NodeFacts
from records.waiting import BUILD_S, scaled

#: Seconds that each step measures, and that it may always take beyond that.
SECONDS: dict[Step, float] = {"cores": 0.5, "latency": 0.5, "arithmetic": 2.0, "memory": 2.5}
SECONDS |= {"disk": 2.0, "link": 4.0}
FURTHER_S = 5.0
#: Looks at the mounts that do not answer, and seconds between two.
_LOOKS, _LOOK_S = 400, 0.005
_FACTS_SCRIPT = ROOT / "assay" / "probe" / "facts.sh"


class StepError(AssayError):
    """A step without a result, and why."""


def program_path() -> Path:
    """Where the measuring program is kept, for processors of this kind: in the clone, else in the
    environment that Assay is installed in, which nodes see and jobs do not write."""
    folder = ROOT if IS_CLONE else Path(sys.prefix)
    return folder / "build" / f"vet-{platform.machine()}" / "vet"


def build_program(*, current: bool = True) -> Path:
    """Compile the measuring program where it is missing or, `current`, older than its sources.

    Raises StepError where it is missing and cannot be made, e.g. on a node without a compiler.
    """
    path = program_path()
    if not current and path.is_file():
        return path
    sources = [file for folder in (LIBRARY, CHECKS / "node") for file in c_sources(folder)]
    words = ["make", "-s", "-C", str(LIBRARY), "vet", "CC=cc", "HOSTCC=cc"]
    try:
        newest = max(file.stat().st_mtime for file in sources)
        if path.is_file() and path.stat().st_mtime >= newest:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="assay-vet-", dir=path.parent) as out:
            words += [f"OUT={out}", f"FOLDERS={CHECKS / 'node'}"]
            said = run_command(words, os.environ, limit_s=scaled(BUILD_S)).said
            if (made := Path(out) / "vet").is_file():
                made.replace(path)
    except (OSError, InfrastructureError) as error:
        said = str(error)
    if not path.is_file():
        do = "make setup" if IS_CLONE else "assay vet --local"
        owner = f"run `{do}` as its owner on a host with a C compiler"
        raise StepError(f"no measuring program {path} ({said}): {owner}")
    return path


def look_at_facts(limit_s: float | None = None) -> NodeFacts:
    """Facts that the node says of itself. Raises StepError where it does not say it in time."""
    try:
        told = run_command(["sh", str(_FACTS_SCRIPT), "-"], os.environ, limit_s=limit_s)
        return node_facts(told.stdout)
    except (InfrastructureError, ValueError) as error:
        raise StepError(f"facts: {error}") from error


def silent_mounts(mounts: Iterable[str]) -> list[str]:
    """The mounts of these that do not answer; what waits for them is left behind, killed.

    They are waited for when /proc, asked last, has answered: a busy node takes as long for it.
    """
    none = subprocess.DEVNULL

    def ask(mount: str) -> subprocess.Popen[bytes]:
        words = ["stat", "-f", "--", mount]
        return subprocess.Popen(words, stdin=none, stdout=none, stderr=none)

    asked = {mount: ask(mount) for mount in mounts}
    ask("/proc").wait()
    for _ in range(_LOOKS):
        if all(one.poll() is not None for one in asked.values()):
            break
        time.sleep(_LOOK_S)
    silent = [mount for mount, one in asked.items() if one.poll() is None]
    for mount in silent:
        asked[mount].kill()
    return silent


def measure(step: Step, options: Sequence[str], limit_s: float) -> list[Figure]:
    """The figures of one step; none where the node has nothing to measure. Raises StepError."""
    program, seconds = str(build_program(current=False)), f"{SECONDS[step]:g}"
    words = [program, "--step", step, "--seconds", seconds, *options]
    try:
        answer = run_command(words, os.environ, limit_s=limit_s, called=step)
    except InfrastructureError as error:
        raise StepError(f"{error}") from error
    lines = []
    for text in answer.stdout.splitlines():
        with suppress(msgspec.MsgspecError):
            lines.append(msgspec.json.decode(text, type=dict[str, Any]))
    errors = [str(line.get("message")) for line in lines if line.get("assay") == "error"]
    if answer.status != 0 or errors:
        raise StepError(f"{step}: {'; '.join(errors) or answer.said}")
    others = max((one["value"] for one in lines if one.get("key") == "others"), default=0.0)
    own = {name for name, (of, *_) in METRICS.items() if of == step}
    return [
        Figure(metric=one["name"], value=one["value"], unit=one["unit"], others=others)
        for one in lines
        if one.get("assay") == "metric" and one["name"] in own and one["value"] > 0
    ]
