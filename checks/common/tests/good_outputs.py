# SPDX-License-Identifier: Apache-2.0
"""Good outputs of every check, and the judging that a launch's output goes through."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from checks.common import json_lines
from checks.common.answer import Reading
from checks.common.definition import CheckDefinition
from checks.common.evidence import Claim, contradictions
from checks.common.registry import CHECKS
from checks.common.sources import CHECKS as FOLDER
from checks.common.sources import shipped_folders
from checks.common.tests.evidence_of import evidence_of
from checks.hpl.run import read_test as read_hpl
from checks.osu import output as osu_output
from checks.osu.run import read_test as read_osu
from checks.su3_rmd import output as su3_output
from checks.su3_rmd.run import read_original, read_own
from records.metric import MetricDefinition

Reader = Callable[[Any, json_lines.Output, str], Reading]


@dataclass(frozen=True)
class Sample:
    """Good launch: what was asked, and what was printed (`text`: stdout, then stderr)."""

    name: str
    definition: CheckDefinition[Any]
    params: Any
    text: str
    read: Reader
    #: Whether the program prints metrics itself, and whether it prints our last line.
    own: bool = True
    ends: bool = True

    @cached_property
    def claim(self) -> Claim:
        """Claim of a harness that got this output."""
        output = json_lines.parse(self.text, self.known)
        hosts = output.hosts()
        library = output.evidence.library if output.evidence else ""
        return Claim(
            nodes=list(dict.fromkeys(hosts)),
            ranks=self.definition.ranks(self.params),
            ranks_per_node=hosts.count(hosts[0]),
            library_pattern=re.escape(re.split("[,;]", library, maxsplit=1)[0]),
        )

    @cached_property
    def daemons(self) -> str:
        """The library's daemons, whose boot and halt the session stamps; or none."""
        if '"name":"boot_begin"' not in self.text:
            return "none"
        said = re.search(r'"daemons":"(\w+)"', self.text)
        return said[1] if said else "lam"

    @property
    def known(self) -> Mapping[str, MetricDefinition]:
        """The metrics that the program itself may print."""
        return self.definition.metrics_by_name if self.own else {}

    def judge(self, text: str) -> Reading:
        """Reading of the launch had it printed `text`; raises OutputError as the readers do.

        As MpiCheck judges it, but for tokens: they must not be what refuses a changed line.
        """
        output = json_lines.parse(text, self.known)
        wrong = "; ".join(output.wrong)
        if not wrong and self.definition.name == "osu":
            wrong = osu_output.failed_validation(text) or ""
        ended = output.ended or not self.ends
        if self.read is read_original:
            ended = su3_output.completed(text)
        if not wrong and (output.errors or output.exit_status != 0 or not ended):
            wrong = "the program did not reach its end"
        wrong = wrong or output.other_session(self.daemons) or ""
        against = [wrong] if wrong else contradictions(output.evidence, self.claim)
        if against:
            return Reading(wrong=against[0])
        return self.read(self.params, output, text)

    def refusal(self, text: str) -> str | None:
        """Why `text` is refused, or None."""
        try:
            return self.judge(text).wrong
        except json_lines.OutputError as error:
            return str(error)


def samples() -> list[Sample]:
    """Every good output there is: of real launches, of the suite's source where there is none."""
    return [*_launches(), *_osu_tables(), *_osu_forms(), *_originals()]


def _launches() -> Iterator[Sample]:
    every = (folder.glob("*/samples/*.params.json") for folder in shipped_folders())
    for file in sorted(file for files in every for file in files):
        name, definition = file.name.removesuffix(".params.json"), CHECKS[file.parents[1].name]
        text = file.with_name(f"{name}.out").read_text()
        errors = file.with_name(f"{name}.err")
        if errors.exists():
            text = f"{text}\n{errors.read_text()}"
        params = definition.parameters.model_validate_json(file.read_text())
        own, ends = True, True
        read: Reader = partial(_read_printed, definition)
        if definition.name == "su3_rmd":
            read = read_own
        elif definition.name == "hpl":
            own, read = False, read_hpl
        elif definition.name == "netpipe":
            found = re.search(r'"assay":"end","program":"(\w+)"', text)
            starter = found[1] if found else None
            read_table = import_module(f"{definition.package}.run").read_table
            own, ends, read = False, bool(starter), partial(read_table, starter=starter)
        yield Sample(f"{definition.name} {name}", definition, params, text, read, own, ends)


def _read_printed(
    definition: CheckDefinition[Any], params: Any, output: json_lines.Output, _: str
) -> Reading:
    return definition.read(params, output)


def _osu_tables() -> Iterator[Sample]:
    for file in sorted((FOLDER / "osu" / "samples").glob("*.txt")):
        # What the launcher adds where a whole table came before the time limit.
        text = re.sub(r"(?m)^srun: error: .*\n", "", file.read_text())
        test = next(part for part in file.name.split(".") if part.startswith("osu_"))
        asked: dict[str, Any] = {"full": ".full." in file.name}
        asked |= {"validate_data": "validate" in file.name}
        asked |= {"tails": ".tail." in file.name, "iterations": 50, "test": test}
        yield _osu_sample(file.name.removesuffix(".txt"), text, asked)


def _osu_sample(name: str, text: str, asked: Mapping[str, Any]) -> Sample:
    params = CHECKS["osu"].parameters.model_validate(dict(asked))
    framed = _framed(text, ["n1", "n2"], 600.0)
    return Sample(f"osu {name}", CHECKS["osu"], params, framed, read_osu, own=False, ends=False)


def _osu_forms() -> Iterator[Sample]:
    """Tests of which there is no output of a real launch, as the suite's source prints them."""
    title, sizes = "# OSU MPI {} Test v7.4\n", [2**k for k in range(17)]
    rates = [(size, 2718661.04 / (1 + size / 4096)) for size in sizes]
    rows = "".join(f"{size:<10}{rate * size / 1e6:18.2f}{rate:18.2f}\n" for size, rate in rates)
    head = "# [ pairs: 1 ] [ window size: 64 ]\n# Datatype: MPI_CHAR.\n"
    head += f"{'# Size':<10}{'MB/s':>18}{'Messages/s':>18}\n"
    text = title.format("Multiple Bandwidth / Message Rate") + head + rows
    yield _osu_sample("mbw_mr", text, {"test": "osu_mbw_mr"})
    names = ["Overall", "Compute", "Coll. Init", "MPI_Test", "MPI_Wait", "Pure Comm."]
    names = [f"{name}(us)" for name in (*names, "Min Comm.", "Max Comm.")] + ["Overlap(%)"]
    forms = {"osu_ibarrier": ("Barrier", [0]), "osu_ialltoall": ("All-to-All", sizes)}
    for test, (name, points) in forms.items():
        text = title.format(f"Non-blocking {name} Latency")
        text += "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        text += f"{'# Size':<10}" if any(points) else "# "
        text += "".join(f"{name:>18}" for name in names) + "\n"
        for size in points:
            comm = 12.25 + (size or 1) / 100
            parts = [comm * 1.02, 6.08, 1.5, 9.53]
            overall = sum(parts) + 0.33
            overlap = max(0.0, 100 - (overall - parts[0]) / comm * 100)
            row = [overall, *parts, comm, comm - 3.21, comm + 3.21, overlap]
            text += f"{size:<10}" if size else ""
            text += "".join(f"{value:18.2f}" for value in row) + "\n"
        yield _osu_sample(test, text, {"test": test, "full": True})


def _originals() -> Iterator[Sample]:
    """The original su3_rmd, whose output is kept beside our program's proofs."""
    folder = FOLDER / "su3_rmd" / "src" / "proof" / "data"
    asked = {"nx": 4, "ny": 4, "nz": 4, "nt": 8, "trajectories": 10, "warmups": 0, "seed": 8352}
    for file in sorted(folder.glob("*.out")):
        ranks = 2 if "2ranks" in file.name else 1
        precision = "double" if "double" in file.name else "single"
        more = {"ranks": ranks, "precision": precision, "implementation": "milc"}
        params = CHECKS["su3_rmd"].parameters.model_validate({**asked, **more})
        text = _framed(file.read_text(), ["n1", "n2"][:ranks], 1.0)
        name = f"su3_rmd original.{precision}"
        yield Sample(name, CHECKS["su3_rmd"], params, text, read_original, own=False, ends=False)


def _framed(text: str, hosts: list[str], seconds: float) -> str:
    """A foreign program's text between the lines that the harness puts around it."""
    begin = 1795317103.560122
    stamps = {"session_begin": begin, "launch_begin": begin, "launch_end": begin + seconds}
    printed = [{"assay": "stamp", "name": name, "at": round(at, 6)} for name, at in stamps.items()]
    found = evidence_of(*hosts, library="MPICH 4.0.2; MPICH Device: ch4:ucx")
    ranks = [replace(one, pid=45, start=begin) for one in found.ranks]
    links = found.links if len(hosts) > 1 else []
    evidence = {"assay": "evidence", **to_builtins(replace(found, ranks=ranks, links=links))}
    last = begin + seconds + 0.000072
    lines = [
        {"assay": "allocation", "nodes": ",".join(hosts), "host": hosts[0], "daemons": "none"},
        *printed[:2],
        text.rstrip("\n"),
        evidence | {"probe_s": 0.017},
        printed[2],
        {"assay": "exit", "status": 0},
        {"assay": "stamp", "name": "session_end", "at": round(last, 6)},
    ]
    compact = partial(json.dumps, separators=(",", ":"))
    return "\n".join([*(one if isinstance(one, str) else compact(one) for one in lines), ""])
