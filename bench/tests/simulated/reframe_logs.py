# SPDX-License-Identifier: Apache-2.0
"""Performance logs as ReFrame 4.6 to 4.10 write them, with known truth.

Test 0 loses 5 % from two thirds of the nights on, the reference of test 1 allows the loss of half,
that of test 2 a thousandth; node nid005 is 10 % slower in all but test 0; of test 3 the first try
of every tenth night fails, and a retry passes.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np

BEGIN = datetime(2025, 1, 1, 2, 0, tzinfo=UTC)
SLOW_NODE = "nid005"
_BEFORE = (
    "result|job_completion_time|descr|env_vars|environ|exclusive_access|extra_resources"
    "|job_completion_time_unix|job_exitcode|job_nodelist|job_submit_time|jobid|modules|name"
    "|num_cpus_per_task|num_gpus_per_node|num_tasks|num_tasks_per_core|num_tasks_per_node"
    "|num_tasks_per_socket|partition"
)
_FIGURES = "|triad_value|triad_unit|triad_ref|triad_lower_thres|triad_upper_thres"
_AFTER = "|short_name|system|unique_name|use_multithreading"


def step_at(nights: int) -> int:
    """The position of the first slower night of test 0."""
    return 2 * nights // 3


def log_lines(test: int, nights: int, repeats: int, version: str = "4.10") -> list[str]:
    """Header and lines of a test's log. 4.6 numbers repeats in the name, 4.9 writes a blank in the
    time where the others have a T."""
    rng = np.random.default_rng(test)
    low = {1: -0.5, 2: -0.001}.get(test, -0.05)
    lines = [_BEFORE + _FIGURES + _AFTER]
    for place in range(nights):
        for repeat in range(repeats):
            node = f"nid{rng.integers(8):03d}"
            value = 100 * (1 + 0.008 * float(rng.standard_normal()))
            value *= 0.95 if test == 0 and place >= step_at(nights) else 1.0
            value *= 0.9 if test and node == SLOW_NODE else 1.0
            job = 10_000 * test + repeats * place + repeat
            end = BEGIN + timedelta(days=place, minutes=repeat, seconds=10 * test + 0.25)
            name = f"Stream{test}" + (f" %$repeat_no={repeat}" if version == "4.6" else "")
            # ReFrame's hash of name and parameters, also of those that its names lack.
            code = sha256(f"Stream{test}.repeat_no={repeat}".encode()).hexdigest()[:8]
            figure = f"{value}|GB/s|100|{low}|None"
            result = "pass" if value >= 100 * (1 + low) else "fail"
            told = [(result, end, job, figure)]
            if test == 3 and place % 10 == 0 and repeat == 0:
                first = end - timedelta(seconds=30)
                told.insert(0, ("fail", first, job + 10**7, "None|GB/s|100|-0.05|None"))
            for word, at, number, figures in told:
                text = f"{at:%Y-%m-%d %H:%M:%S}" if version == "4.9" else f"{at:%Y-%m-%dT%H:%M:%S}"
                lines.append(
                    f"{word}|{text}||{{}}|gnu|false|{{}}|{at.timestamp()}|0|{node}|0|{number}||{name}"
                    f"|null|null|1|null|null|null|mc|{figures}|Stream{test}_{code}|daint"
                    f"|Stream{test}_{repeat}|null"
                )
    return lines


def write_logs(folder: Path, tests: int, nights: int, repeats: int, version: str = "4.10") -> Path:
    """The logs of so many tests below a folder, as ReFrame lays them out."""
    place = folder / "daint" / "mc"
    place.mkdir(parents=True, exist_ok=True)
    for test in range(tests):
        text = "\n".join(log_lines(test, nights, repeats, version)) + "\n"
        (place / f"Stream{test}.log").write_text(text)
    return folder
