# SPDX-License-Identifier: Apache-2.0
"""Good outputs of every check."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from checks.common.registry import CHECKS
from checks.common.sources import CHECKS as FOLDER
from checks.common.sources import shipped_folders
from checks.common.tests.judged import Sample, evidence_of


def samples() -> list[Sample]:
    """Every good output there is: of real launches, of the suite's source where there is none."""
    return [*_launches(), *_osu_tables(), *_osu_forms(), *_hpl_alone(), *_originals()]


def _launches() -> Iterator[Sample]:
    every = (folder.glob("*/samples/*.params.json") for folder in shipped_folders())
    for file in sorted(file for files in every for file in files):
        name, definition = file.name.removesuffix(".params.json"), CHECKS[file.parents[1].name]
        printed = [file.with_name(f"{name}.{stream}") for stream in ("out", "err")]
        text = "\n".join(one.read_text() for one in printed if one.exists())
        params = definition.parameters.model_validate_json(file.read_text())
        yield Sample(f"{definition.name} {name}", definition, params, text)


def _osu_tables() -> Iterator[Sample]:
    for file in sorted((FOLDER / "osu" / "samples").glob("*.txt")):
        # What the launcher adds where a whole table came before the time limit.
        text = re.sub(r"(?m)^srun: error: .*\n", "", file.read_text())
        test = next(part for part in file.name.split(".") if part.startswith("osu_"))
        asked: dict[str, Any] = {"full": ".full." in file.name}
        asked |= {"validate_data": "validate" in file.name, "iterations": 50, "test": test}
        yield _osu_sample(file.name.removesuffix(".txt"), text, asked)


def _osu_sample(name: str, text: str, asked: Mapping[str, Any]) -> Sample:
    params = CHECKS["osu"].parameters.model_validate(dict(asked))
    return Sample(f"osu {name}", CHECKS["osu"], params, _framed(text, ["n1", "n2"], 600.0))


def _osu_forms() -> Iterator[Sample]:
    """A test of which there is no output of a real launch, as the suite's source prints it."""
    sizes = [2**k for k in range(17)]
    rates = [(size, 2718661.04 / (1 + size / 4096)) for size in sizes]
    rows = "".join(f"{size:<10}{rate * size / 1e6:18.2f}{rate:18.2f}\n" for size, rate in rates)
    head = "# [ pairs: 1 ] [ window size: 64 ]\n# Datatype: MPI_CHAR.\n"
    head += f"{'# Size':<10}{'MB/s':>18}{'Messages/s':>18}\n"
    text = f"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n{head}{rows}"
    yield _osu_sample("mbw_mr", text, {"test": "osu_mbw_mr"})


def _hpl_alone() -> Iterator[Sample]:
    """What an HPL prints that a site has built, without a line of ours."""
    large = {"n": 2000, "nb": 128, "rfact": "crout", "swap_threshold": 64}
    asked: dict[str, dict[str, Any]] = {
        "hpl-2.0.mpich.2ranks": {**large, "q": 2},
        "hpl-2.0.openmpi.1rank": {**large, "q": 1},
        "hpl-2.3.mpich.2ranks": {"n": 200, "nb": 32, "q": 2},
    }
    for name, given in asked.items():
        params = CHECKS["hpl"].parameters.model_validate({"p": 1, **given})
        printed = (FOLDER / "hpl" / "samples" / f"{name}.txt").read_text()
        text = _framed(printed, ["n1", "n2"][: params.q], 10.0)
        yield Sample(name, CHECKS["hpl"], params, text, changes={"programs": {"hpl": "xhpl"}})


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
        yield Sample(f"su3_rmd original.{precision}", CHECKS["su3_rmd"], params, text)


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
