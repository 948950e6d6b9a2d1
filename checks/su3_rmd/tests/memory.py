# SPDX-License-Identifier: Apache-2.0
"""Memory of su3_rmd: address and undefined-behaviour sanitizers, leaks, valgrind.

usage: memory.py MPIEXEC SANITIZED_DIR PLAIN_PROGRAM
Runs the proofs in SANITIZED_DIR and a short run at 1 and 2 ranks, then PLAIN_PROGRAM under
valgrind. Every error counts; leaks and valgrind's findings count when a frame of their stack is
in this program: an MPI library that is unloaded at the end leaves some of its own.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
PROOFS = ("prove_parts", "prove_halo", "prove_force", "prove_kernels", "prove_gauge")
OWN = re.compile(r"\b(" + "|".join(sorted(path.stem for path in SOURCES.glob("*.c"))) + r")\.c:\d+")
INPUT = """prompt 0
nx 4\nny 4\nnz 4\nnt 4\niseed 1
warms 1\ntrajecs 2\ntraj_between_meas 1\nbeta 6.0\nmicrocanonical_time_step 0.02
steps_per_trajectory 2\nfresh\nsave_serial {folder}/gauge
warms 0\ntrajecs 1\ntraj_between_meas 1\nbeta 6.0\nmicrocanonical_time_step 0.02
steps_per_trajectory 2\nreload_serial {folder}/gauge\nforget
"""


def judge(name: str, answer: subprocess.CompletedProcess[str], blocks: list[str]) -> bool:
    """Print right or wrong; `blocks` are the findings that count."""
    right = not blocks and "NO END" not in answer.stdout
    print(f"{'right' if right else 'WRONG':6} {name}: {len(blocks)} findings")
    for block in blocks[:2]:
        print(block[:1500])
    return right


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; its output and errors together."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )


def sanitizer_findings(text: str) -> list[str]:
    """Errors of the sanitizers, and leaks whose stack passes through this program."""
    errors = re.findall(r"^.*runtime error.*$|ERROR: AddressSanitizer.*", text, re.MULTILINE)
    leaks = re.findall(r"(?:Direct|Indirect) leak of.*?(?:\n\n|\Z)", text, re.DOTALL)
    return errors + [leak for leak in leaks if OWN.search(leak)]


def valgrind_findings(text: str) -> list[str]:
    """Valgrind's findings whose stack passes through this program."""
    blocks = re.split(r"^==\d+== ?$", text, flags=re.MULTILINE)
    signs = re.compile(r"Invalid|uninitialised|definitely lost|overlap")
    return [block for block in blocks if signs.search(block) and OWN.search(block)]


def main(arguments: list[str]) -> int:
    """Run everything; 0 when all is right."""
    launcher, sanitized, plain = arguments
    right = True
    with tempfile.TemporaryDirectory(prefix="assay-memory-") as folder:
        file = Path(folder) / "in"
        file.write_text(INPUT.format(folder=folder))
        options = ["--input", str(file), "--json", "-"]
        programs = [[f"{sanitized}/{name}_double"] for name in PROOFS]
        programs.append([f"{sanitized}/su3_rmd_double", *options])
        for ranks in ("1", "2"):
            for program in programs:
                answer = run([launcher, "-n", ranks, *program])
                found = sanitizer_findings(answer.stdout)
                right &= judge(f"{Path(program[0]).name}, {ranks} ranks, sanitizers", answer, found)
            # Valgrind does not know AVX-512.
            under = ["valgrind", "--leak-check=full", plain, *options, "--kernel", "avx2"]
            answer = run([launcher, "-n", ranks, *under])
            if "RUNNING COMPLETED" not in answer.stdout:
                answer.stdout += "NO END"
            found = valgrind_findings(answer.stdout)
            right &= judge(f"su3_rmd, {ranks} ranks, valgrind", answer, found)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
