# SPDX-License-Identifier: Apache-2.0
"""Prove su3_rmd as a program: what it prints, for every way to run it, and what it refuses.

usage: prove_program.py PROGRAM double|single WORK_DIR LAUNCHER…

LAUNCHER… is what precedes `-np N PROGRAM`. Prints one line a property, exits non-zero when one
does not hold.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[1] / "src/proof/data"
SINGLE_TOLERANCE = 2e-5
#: A launch takes seconds; only one that hangs takes this long, however loaded the machine is.
TIMEOUT_S = 600
GEOMETRIES = {
    1: ["1,1,1,1"],
    2: ["2,1,1,1", "1,2,1,1", "1,1,2,1", "1,1,1,2"],
    4: ["2,2,1,1", "1,1,2,2", "4,1,1,1", "1,1,1,4", "1,4,1,1", "2,1,1,2"],
}
WAYS = [(comm, overlap) for comm in ("isend", "ssend", "persistent") for overlap in ("yes", "no")]
ODD = {"nx": "3", "ny": "5", "nz": "2", "nt": "12"}


@dataclass
class Proof:
    """The program, how it is launched, and whether all held so far."""

    program: str
    precision: str
    work: Path
    launcher: list[str]
    right: bool = True

    def run(self, ranks: int, text: str, *options: str) -> tuple[int, str]:
        """Exit status (-1: it hangs) and standard output of one launch."""
        path = self.work / "input"
        path.write_text(text)
        command = [*self.launcher, "-np", str(ranks), self.program, "--input", str(path), *options]
        how: dict[str, Any] = {"capture_output": True, "stdin": subprocess.DEVNULL}
        try:
            done = subprocess.run(command, check=False, text=True, timeout=TIMEOUT_S, **how)
        except subprocess.TimeoutExpired:
            return -1, ""
        return done.returncode, done.stdout

    def measured(self, ranks: int, text: str, *options: str) -> list[str]:
        """The GMES lines of a run that must succeed."""
        status, output = self.run(ranks, text, *options)
        if status != 0:
            self.say(f"{ranks} ranks {' '.join(options)}: exit status {status}", False)
        return [line for line in output.splitlines() if line.startswith("GMES")]

    def say(self, what: str, holds: bool) -> None:
        """Print one line of proof and remember a failure."""
        print(f"{'right' if holds else 'WRONG':6} {what}", flush=True)
        self.right &= holds


def sample_input(**changes: str) -> str:
    """The sample's input with the values of some keywords changed."""
    lines = (SAMPLES / "su3_rmd.4x4x4x8.double.in").read_text().splitlines()
    words = [line.split() for line in lines]
    values = [(w[0], changes.get(w[0], " ".join(w[1:]))) for w in words]
    return "".join(f"{keyword} {value}".strip() + "\n" for keyword, value in values)


def kernels(proof: Proof) -> list[str]:
    """The sets that the program says are possible here."""
    _, output = proof.run(1, sample_input(), "--kernel", "none")
    message = json.loads(next(line for line in output.splitlines() if '"error"' in line))["message"]
    return str(message).split(" is ")[-1].split(", ")


def close(found: list[str], expected: list[str], tolerance: float) -> bool:
    """Whether all numbers agree to a relative tolerance, of numbers near 0 to an absolute one."""
    pairs = [
        (float(a), float(b))
        for x, y in zip(found, expected, strict=False)
        for a, b in zip(x.split()[1:], y.split()[1:], strict=True)
    ]
    return len(found) == len(expected) and all(
        abs(a - b) <= tolerance * max(1.0, abs(b)) for a, b in pairs
    )


def prove_sample(proof: Proof) -> None:
    """Lines equal to the original's: digit by digit in double, to rounding in single precision."""
    text, single = sample_input(), proof.precision == "single"
    kind = "single.lam.2ranks" if single else "double"
    original = (SAMPLES / f"su3_rmd.4x4x4x8.{kind}.out").read_text().splitlines()
    expected = [line for line in original if line.startswith("GMES")]
    for kernel in kernels(proof):
        found = proof.measured(1, text, "--kernel", kernel)
        same = close(found, expected, SINGLE_TOLERANCE) if single else found == expected
        proof.say(f"the original's 10 GMES lines, 1 rank, kernels {kernel}", same)
        for ranks, grids in GEOMETRIES.items():
            asked = [("--kernel", kernel, "--geometry", grid) for grid in grids]
            holds = all(proof.measured(ranks, text, *options) == found for options in asked)
            proof.say(f"the same lines, {kernel}, {ranks} ranks: grids {' '.join(grids)}", holds)
    found = proof.measured(1, text)
    for comm, overlap in WAYS:
        lines = proof.measured(4, text, "--comm", comm, "--overlap", overlap)
        proof.say(f"the same lines, 4 ranks, {comm}, overlap {overlap}", lines == found)


def prove_odd(proof: Proof) -> None:
    """A lattice that neither lanes nor ranks like."""
    text = sample_input(**ODD)
    found = proof.measured(1, text)
    proof.say("3x5x2x12: 10 lines", len(found) == 10)
    for ranks in (2, 3, 4):
        proof.say(f"3x5x2x12: the same on {ranks} ranks", proof.measured(ranks, text) == found)


def prove_split(proof: Proof) -> None:
    """A run cut in two goes on bit for bit, on any rank count."""
    save = {name: proof.work / name for name in ("whole", "first", "second", "blocks")}
    end = {name: f"save_serial {path}" for name, path in save.items()}
    whole = proof.measured(1, sample_input(trajecs="6").replace("forget", end["whole"]))
    half = sample_input(trajecs="3")
    proof.measured(2, half.replace("forget", end["first"]))
    rest = half.replace("forget", end["second"]).replace("fresh", f"reload_serial {save['first']}")
    proof.say("split run: the same lines", proof.measured(4, rest) == whole[3:])
    second = half[half.index("warms") :].replace("fresh", "continue")
    blocks = proof.measured(2, half + second.replace("forget", end["blocks"]))
    proof.say("two blocks, `continue`: the same lines", blocks == whole)
    for what, name in (("split run", "second"), ("two blocks, `continue`", "blocks")):
        same = save[name].read_bytes() == save["whole"].read_bytes()
        proof.say(f"{what}: the same file, bit for bit", same)


def refused(proof: Proof, what: str, ranks: int, text: str, part: str, *options: str) -> None:
    """One error line with `part` in it, no end line, a non-zero status, no hanging."""
    status, output = proof.run(ranks, text, "--json", "-", *options)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"assay"')]
    errors = [line["message"] for line in lines if line["assay"] == "error"]
    ends = [line for line in lines if line["assay"] == "end"]
    holds = status > 0 and len(errors) == 1 and part in errors[0] and not ends
    detail = "" if holds else f": status {status}, errors {errors}, ends {len(ends)}"
    proof.say(f"refused: {what}, {ranks} ranks{detail}", holds)


def _bad_inputs() -> dict[str, tuple[str, str]]:
    """Inputs that are refused, by what is wrong with them, each with a part of the message."""
    nowhere, missing = "/nowhere/x", "'/nowhere/x': No such file"
    once = sample_input(trajecs="1")
    unstable = sample_input(microcanonical_time_step="1", beta="500")
    texts = {
        "empty input": ("", "allowed is the keyword `prompt`"),
        "missing keyword": (sample_input().replace("nz 4\n", ""), "line 4: found 'nt'"),
        "missing end": (sample_input().replace("forget\n", ""), "found the end of the input"),
        "negative size": (sample_input(ny="-4"), "for ny: an integer from 1"),
        "nx 0": (sample_input(nx="0"), "for nx: an integer from 1"),
        "size with a tail": (sample_input(nt="8x"), "found '8x'"),
        "NaN beta": (sample_input(beta="nan"), "for beta: a number"),
        "step 0": (sample_input(microcanonical_time_step="0"), "microcanonical_time_step"),
        "infinite step": (sample_input(microcanonical_time_step="inf"), "found 'inf'"),
        "no steps": (sample_input(steps_per_trajectory="0"), "steps_per_trajectory"),
        "interval 0": (sample_input(traj_between_meas="0"), "traj_between_meas"),
        "huge count": (sample_input(trajecs="99999999999999999999"), "for trajecs"),
        "unknown start": (sample_input().replace("fresh", "hot"), "found 'hot'"),
        "continue at once": (sample_input().replace("fresh", "continue"), "second block"),
        "extra text": (sample_input() + "and more\n", "line 15: found 'and'"),
        "absurd size": (sample_input(nx="4096", ny="4096", nz="64", nt="64"), "is too large"),
        "no such file": (sample_input().replace("fresh", f"reload_serial {nowhere}"), missing),
        "no such folder": (once.replace("forget", f"save_serial {nowhere}"), missing),
        "unstable step": (unstable, "a smaller microcanonical_time_step"),
    }
    if os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") < 6e10:
        large = sample_input(nx="96", ny="96", nz="96", nt="72")
        texts["beyond memory"] = (large, "bytes on host ")
    return texts


def prove_refusals(proof: Proof) -> None:
    """Every kind of bad input, file and option."""
    for what, (text, part) in _bad_inputs().items():
        for ranks in (1, 2):
            refused(proof, what, ranks, text, part)
    damaged = proof.work / "damaged"
    good = (proof.work / "first").read_bytes()
    files = {
        "damaged file": (good[:1000] + bytes([good[1000] ^ 1]) + good[1001:], "checksum"),
        "cut file": (good[:-5], "ends too early"),
        "long file": (good + b"x", "longer"),
        "other lattice": (good.replace(b" 4 4 4 8 ", b" 4 4 8 4 ", 1), "lattice of 4 x 4 x 8 x 4"),
        "other file": (b"hello" * 100, "no configuration"),
        "empty file": (b"", "no configuration"),
    }
    for what, (content, part) in files.items():
        damaged.write_bytes(content)
        refused(proof, what, 2, sample_input().replace("fresh", f"reload_serial {damaged}"), part)
    text = sample_input()
    refused(proof, "3 ranks", 3, text, "possible are 1, 2, 4, 8, 16")
    refused(proof, "geometry of 4 on 2 ranks", 2, text, "makes 4 ranks", "--geometry", "1,1,2,2")
    refused(proof, "geometry 3", 3, text, "along x do not divide", "--geometry", "3,1,1,1")
    refused(proof, "geometry text", 2, text, "four numbers", "--geometry", "2x1")
    refused(proof, "unknown kernels", 1, text, "possible", "--kernel", "sse9")
    refused(proof, "unknown way", 2, text, "isend, ssend or persistent", "--comm", "rdma")
    refused(proof, "unknown option", 2, text, "unknown option", "--colour", "red")


def main(arguments: list[str]) -> int:
    """Run all proofs."""
    proof = Proof(arguments[0], arguments[1], Path(arguments[2]), arguments[3:])
    prove_sample(proof)
    prove_odd(proof)
    prove_split(proof)
    prove_refusals(proof)
    return 0 if proof.right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
