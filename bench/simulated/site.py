# SPDX-License-Identifier: Apache-2.0
"""A site of very many nodes whose launches are answered for a machine of known truth.

Slurm is real (one_kernel_slurm.py), as are plan, driver, ReFrame session, steps, records, archives
and reports. Only what stands behind the launcher is not: simulated_ranks.py prints what the ranks
of the machine would.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.simulated import ranks as simulated_ranks
from bench.simulated.machines import SITE
from bench.simulated.scans import machine_of
from bench.simulated.slurm import CORES, MEGABYTES

NAME = "at-size"
#: Libraries by the time of a short message, one way.
START_S = {"fabric-a": 1.30e-6, "fabric-b": 1.37e-6}
#: As a user calls it, on a site that lies elsewhere; a thousand nodes that share a few cores need
#: more time to tell what they are.
_ASSAY = (
    "import sys, pathlib, assay.sites.site_file as file, assay.run.preflight as preflight;"
    "file.SITES = pathlib.Path(sys.argv.pop(1)); preflight._JOB_S = 1800;"
    "from assay.cli.main import main; sys.exit(main())"
)
#: Programs that a build copies; none of them is started.
_PROGRAMS = ("stepkeeper", "libassay_evidence.so", "pt2pt", "node", "alltoall_pairs")
_LOOK_S = 0.5


@dataclass
class Usage:
    """What one command took: `memory` is the greatest of each of its processes, in bytes."""

    wall_s: float = 0.0
    processor_s: float = 0.0
    memory: dict[str, int] = field(default_factory=dict)
    status: int = 0
    said: str = ""


class SimulatedSite:
    """The site's description, its machine, and `assay` on it in a folder of its own."""

    def __init__(self, folder: Path, truth: Mapping[str, Any], at_once: int) -> None:
        self.folder, self.truth = folder, {**truth, "start_s": START_S}
        self.machine = machine_of(self.truth)
        (folder / "truth.json").write_text(json.dumps(self.truth))
        (folder / "programs").mkdir(exist_ok=True)
        for name in _PROGRAMS:
            (folder / "programs" / name).touch(mode=0o755)
        file = folder / "sites" / NAME / "site.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self._description(at_once)))

    def _description(self, at_once: int) -> dict[str, Any]:
        words = [sys.executable, "-I", "-S", simulated_ranks.__file__]
        words += [str(self.folder / "truth.json"), "{ranks}", "{ranks_per_node}"]
        switches = {name: one.model_dump() for name, one in self.machine.switches.items()}
        environments = {
            name: {
                "description": f"{name}, simulated",
                "compiler": "mpicc.mpich",
                "launcher_command": " ".join(words),
                "launcher_options": [name],
                "library": f"^Simulated {name}",
                "ready_programs": str(self.folder / "programs"),
            }
            for name in START_S
        }
        return {
            "schema": 2,
            "name": NAME,
            "description": "answers of a machine of known truth",
            "work_dir": str(self.folder / "work"),
            "launch_in": "allocation",
            "nodes": self.machine.nodes,
            "cores_per_node": CORES,
            "memory_bytes_per_node": MEGABYTES << 20,
            "concurrency": at_once,
            "topology": {"switches": switches},
            **SITE,
            "partitions": {"all": {}},
            "environments": environments,
        }

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start a command of assay; what it prints goes to the file `said`."""
        argv = [sys.executable, "-c", _ASSAY, str(self.folder / "sites"), *words]
        with (self.folder / "said").open("w") as said:
            return subprocess.Popen(
                argv,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                text=True,
                start_new_session=True,
            )

    def assay(self, *words: str) -> Usage:
        """Run a command to its end."""
        process, used, begun = self.begin(*words), Usage(), time.monotonic()
        before_s = _processor_s()
        while process.poll() is None:
            note_memory(process.pid, used.memory)
            time.sleep(_LOOK_S)
        used.wall_s, used.status = time.monotonic() - begun, process.returncode
        used.processor_s = _processor_s() - before_s
        used.said = (self.folder / "said").read_text()
        return used

    def run_directory(self, campaign: str) -> Path:
        """The one run of a campaign."""
        (found,) = self.run_directories(campaign)
        return found

    def run_directories(self, campaign: str) -> list[Path]:
        """Those of a campaign that there are."""
        return list((self.folder / "results").glob(f"{campaign}/*"))


def _processor_s() -> float:
    """Of commands that have ended, and of what they have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def note_memory(pid: int, greatest: dict[str, int]) -> None:
    """Keep the greatest memory so far of a driver and of its ReFrame session."""
    for process in [pid, *_children(pid)]:
        with suppress(OSError, ValueError, StopIteration):
            words = Path(f"/proc/{process}/cmdline").read_text()
            kind = "session" if "checks.common.session.command_line" in words else "driver"
            if kind == "driver" and process != pid:
                continue
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            line = next(line for line in lines if line.startswith("VmHWM:"))
            greatest[kind] = max(greatest.get(kind, 0), int(line.split()[1]) << 10)


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        yield from map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
