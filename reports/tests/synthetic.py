# SPDX-License-Identifier: Apache-2.0
"""Seeded run directories for tests and for the benchmark: plausible numbers, no measurement."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from records.metric import CheckDescription, MetricDefinition, Register
from records.run.chain import BEGINNING, SEAL, Chain, chain_of, write_seal
from records.run.plan import LONG_DIGITS, canonical_json, case_digest
from reports.analysis.run import Analysis, analyse
from reports.load.loading import load_run

ENVIRONMENTS = ("mpich", "openmpi", "lam", "lam-lamd")
SIZES = tuple(sorted({round(2 ** (octave / 2)) for octave in range(0, 41)}))
CONSTRUCTS = tuple(
    f"{s}/{r}" for r in ("Recv", "Irecv") for s in ("Send", "Isend", "Ssend", "Issend")
)
SPEED = {"mpich": 1.0, "openmpi": 1.035, "lam": 0.93, "lam-lamd": 0.55}
HPL_FIXED = {"nb": 128, "pmap": "row", "threshold": 16.0, "pfact": "right", "depth": 1}

Edit = Callable[[dict[str, Any]], dict[str, Any] | None]


@cache
def definitions() -> dict[str, Any]:
    """Metrics and checks that the plans of these runs carry."""
    text = Path(__file__).with_name("register.json").read_bytes()
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


@cache
def register() -> Register:
    """The register of these metrics and checks."""
    found = definitions()
    metrics = msgspec.convert(found["metrics"], list[MetricDefinition])
    return Register.of(metrics, msgspec.convert(found["checks"], list[CheckDescription]))


def case_id(check: str, environment: str, params: dict[str, Any]) -> str:
    """Its id in a plan.json of many cases: 100,000 must not meet."""
    return f"{check}-{case_digest(check, environment, canonical_json(params))[:LONG_DIGITS]}"


def case(check: str, environment: str, params: dict[str, Any], ranks: int = 2) -> dict[str, Any]:
    """One entry of plan.json."""
    return {
        "id": case_id(check, environment, params),
        "check": check,
        "environment": environment,
        "params": params,
        "ranks": ranks,
        "ranks_per_node": 1,
        "nodes": 2,
        "memory_bytes_per_node": 32_000_000,
        "estimate_s": 3.0,
        "skipped": None,
    }


def quick_cases(environments: tuple[str, ...] = ENVIRONMENTS) -> list[dict[str, Any]]:
    """A small campaign of all three checks, with a skipped case and a fault shown on purpose."""
    cases = []
    for name in environments:
        for p, q in ((1, 1), (1, 2), (2, 2)):
            for n in (1000, 2000, 4000):
                params = {"p": p, "q": q, "n": n, **HPL_FIXED, "ranks_per_node": 1}
                cases.append(case("hpl", name, params, p * q))
        for wait in (False, True):
            params = {
                "placement": "between-nodes",
                "constructs": list(CONSTRUCTS) if not wait else ["Send/Irecv"],
                "sizes": [{"from": 1, "to": 1048576, "per_octave": 2}],
                "iterations": 100,
                "reply_before_wait": wait,
            }
            cases.append(case("pt2pt", name, params))
        cases += [
            case("startup", name, {"ranks": ranks, "ranks_per_node": 1}, ranks)
            for ranks in (1, 2, 3, 4)
        ]
    cases[8]["skipped"] = "does not fit: 128 MB of matrix, the nodes have 64 MB"
    return cases


def write_run(
    directory: Path,
    cases: list[dict[str, Any]] | None = None,
    *,
    blocks: int = 5,
    seed: int = 1,
    edit: Edit | None = None,
    slower: float = 1.0,
    plan: str | None = None,
    raw: bool = True,
) -> Path:
    """Write a run directory; `edit` may change a record or drop it (None); `plan` is the text of
    plan.json, if that is not made of the cases; without its `raw` files if so asked."""
    cases = quick_cases() if cases is None else cases
    (directory / "raw").mkdir(parents=True, exist_ok=True)
    (directory / "campaign.yaml").write_text("schema: 1\n")
    write_plan(directory, cases, blocks, seed)
    if plan is not None:
        (directory / "plan.json").write_text(plan)
    _write_provenance(directory, sorted({item["environment"] for item in cases}), seed)
    made = _records(directory.name, cases, blocks, np.random.default_rng(seed), slower)
    write_records(directory, (kept for one in made if (kept := edit(one) if edit else one)), raw)
    return directory


def write_records(directory: Path, records: Iterable[dict[str, Any]], raw: bool = True) -> None:
    """Write records with their chain, and the `raw` files that are named after their launch."""
    chain = Chain.of(directory)
    kinds = (("stdout", "out"), ("stderr", "err")) if raw else ()
    with (directory / "records.jsonl").open("wb") as file:
        for record in records:
            line = msgspec.json.encode(record | {"chain": chain.due})
            chain.follow([line], [chain.due])
            file.write(line + b"\n")
            stem = f"raw/{record['case_id']}.b{record['block']}.a{record['attempt']}"
            for kind, suffix in kinds:
                name = f"{stem}.{suffix}"
                if record["artifacts"].get(kind) == name and not (directory / name).exists():
                    (directory / name).write_text(stem if kind == "stdout" else "")


def chained(run: Path) -> Path:
    """Chain the lines of a run's records anew, and seal it again if it was."""
    sealed, file = (run / SEAL).exists(), run / "records.jsonl"
    (run / SEAL).unlink(missing_ok=True)
    chain, lines = Chain.of(run), []
    *whole, torn = file.read_bytes().split(b"\n")
    for line in whole:
        link = b'"chain":"%s"' % chain.due.encode()
        text, links = re.subn(rb'"chain": ?"[^"]*"', link, line, count=1)
        if not links and line.endswith(b"}"):
            text = line[:-1] + b"," + link + b"}"
        chain.follow([text], [chain.due])
        lines.append(text)
    file.write_bytes(b"\n".join([*lines, torn]))
    if sealed:
        write_seal(run, chain_of(run))
    return run


def analysed(directory: Path, cases: list[dict[str, Any]] | None = None, **how: Any) -> Analysis:
    """The analysis of a run directory that is written so."""
    return analyse(load_run(write_run(directory, cases, **how)))


def changed(file: Path, **keys: Any) -> None:
    """Give the JSON object in a file other values of these keys; the run's chain follows."""
    file.write_bytes(msgspec.json.encode(msgspec.json.decode(file.read_bytes()) | keys))
    if file.name in BEGINNING and file.with_name("records.jsonl").exists():
        chained(file.parent)


def with_records(run: Path, edit: Edit) -> Path:
    """The run after a change of each of its records, or without those that become None."""
    rewrite(run, lambda found: [kept for record in found if (kept := edit(record)) is not None])
    return run


def rewrite(run: Path, change: Callable[[list[dict[str, Any]]], Iterable[dict[str, Any]]]) -> None:
    """Write the records of a run again as `change` gives them."""
    file = run / "records.jsonl"
    found = change([msgspec.json.decode(line) for line in file.read_bytes().splitlines()])
    write_records(run, found)


def write_plan(
    directory: Path, cases: list[dict[str, Any]], blocks: int, seed: int, campaign: str = "quick"
) -> None:
    """Write the plan of a run."""
    running = sum(item["skipped"] is None for item in cases)
    sums = {"cases": len(cases), "skipped": len(cases) - running, "launches": blocks * running}
    plan = {
        "schema": 2,
        "campaign": campaign,
        "question": "Which MPI library should this cluster use, and what does LAM's daemon cost?",
        "site": "virtual",
        "seed": seed,
        "blocks": blocks,
        "environments": list(dict.fromkeys(item["environment"] for item in cases)),
        "weights": {},
        "limits": {},
        "criteria": [],
        # As if every launch took 3 s.
        "totals": sums | {"node_hours": blocks * running / 600, "wall_s": blocks * running * 3.0},
        **definitions(),
        "cases": cases,
    }
    (directory / "plan.json").write_bytes(msgspec.json.encode(plan))


def _write_provenance(directory: Path, environments: list[str], seed: int) -> None:
    provenance = {
        "schema": 1,
        "run_id": directory.name,
        "started_at": "2026-11-20T23:50:11Z",
        "harness": {"version": "0.1.0", "git_commit": "3f2a" * 10, "git_dirty": False},
        "site": {
            "name": "virtual",
            "virtual": True,
            "network": {"name": "fast-ethernet", "bits_per_second": 100_000_000},
        },
        "host": {"cpu": "Example CPU 3.0 GHz", "cores": 2, "memory_bytes": 24 * 2**30},
        "slurm": {"version": "22.05.8", "settings": {"SelectType": "select/cons_tres"}},
        "environments": {
            name: {"library": f"{name} (synthetic)", "compiler": "gcc 12.2", "flags": "-O2"}
            for name in environments
        },
        "variables": {"OPENBLAS_NUM_THREADS": "1"},
        "order_seed": seed,
    }
    (directory / "provenance.json").write_bytes(msgspec.json.encode(provenance))


def _records(
    run_id: str, cases: list[dict[str, Any]], blocks: int, rng: np.random.Generator, slower: float
) -> Iterator[dict[str, Any]]:
    for item in cases:
        if item["skipped"]:
            yield a_record(run_id, item, 0, status="skipped", reason=item["skipped"])
    running = [item for item in cases if not item["skipped"]]
    for block in range(1, blocks + 1):
        drift = 1 + 0.01 * rng.standard_normal()
        for place in rng.permutation(len(running)):
            item = running[place]
            make = METRICS.get(item["check"])
            metrics = make(item, rng, drift * slower) if make else []
            record = a_record(run_id, item, block, metrics=metrics)
            if item["params"].get("reply_before_wait"):
                record["status"] = "wrong"
                record["reason"] = "replies before the message has arrived (reply_before_wait)"
                record["flags"] = ["invalid-reply-before-wait"]
            if item["ranks"] > 2:
                record["flags"] = [*record["flags"], "oversubscribed"]
            yield record


def a_record(run_id: str, item: dict[str, Any], block: int, **members: Any) -> dict[str, Any]:
    """A record of a launch on two nodes, or of a case that did not run (block 0)."""
    stem, ran = f"raw/{item['id']}.b{block}.a1", block > 0
    return {
        "schema": 2,
        "run_id": run_id,
        "case_id": item["id"],
        **{name: item[name] for name in ("check", "environment", "params", "ranks")},
        "site": "virtual",
        "block": block,
        "attempt": 1,
        "status": "ok",
        "reason": None,
        "started_at": f"2026-11-20T23:{block % 60:02d}:11.120Z" if ran else None,
        "ended_at": f"2026-11-20T23:{block % 60:02d}:19.904Z" if ran else None,
        "job_id": "41" if ran else None,
        "nodes": ["n1", "n2"] if ran else [],
        "metrics": [],
        "flags": [],
        "artifacts": {
            "stdout": f"{stem}.out",
            "stdout_sha256": hashlib.sha256(stem.encode()).hexdigest(),
            "stderr": f"{stem}.err",
            "stderr_sha256": hashlib.sha256(b"").hexdigest(),
        }
        if ran
        else {},
        **members,
    }


def metric(name: str, value: float, **at: str | int) -> dict[str, Any]:
    """A registered metric as a record has it."""
    known = register().metrics[name]
    made = {"name": name, "unit": known.unit, "better": known.better, "value": float(value)}
    return made | ({"at": at} if at else {})


def _hpl(item: dict[str, Any], rng: np.random.Generator, drift: float) -> list[dict[str, Any]]:
    params = item["params"]
    ranks = params["p"] * params["q"]
    rate = 3e9 * min(ranks, 2) ** 0.85 * params["n"] / (params["n"] + 900)
    rate *= SPEED.get(item["environment"], 0.8) ** 0.5 / drift
    rate *= 1 + (0.004 if ranks <= 2 else 0.05) * rng.standard_normal()
    work = 2 * params["n"] ** 3 / 3 + 1.5 * params["n"] ** 2
    return [metric("rate", rate), metric("time", work / rate)]


def _pt2pt(item: dict[str, Any], rng: np.random.Generator, drift: float) -> list[dict[str, Any]]:
    start = {"mpich": 38e-6, "openmpi": 41e-6, "lam": 45e-6, "lam-lamd": 160e-6}
    alpha = start.get(item["environment"], 50e-6)
    beta = 8 / 100e6 * {"mpich": 1.12, "lam-lamd": 1.3}.get(item["environment"], 1.05)
    half = 0.55 if item["params"].get("reply_before_wait") else 1.0
    listed = [size for size in item["params"].get("sizes", ()) if isinstance(size, int)]
    metrics = []
    for place, construct in enumerate(item["params"]["constructs"]):
        for size in listed or SIZES:
            typical = half * (alpha * (1 + 0.03 * place) + beta * size) * drift
            value = float(typical * (1 + 0.015 * rng.standard_normal()))
            for suffix, factor in (("", 1.0), ("_best", 0.93), ("_mean", 1.04), ("_worst", 2.2)):
                at = {"construct": construct, "message_bytes": size}
                time_s = value * factor
                metrics.append(metric(f"half_round_trip{suffix}", time_s, **at))
                metrics.append(metric(f"bandwidth{suffix}", size / time_s, **at))
    return metrics


def _startup(item: dict[str, Any], rng: np.random.Generator, drift: float) -> list[dict[str, Any]]:
    ranks = item["params"]["ranks"]
    base = drift / SPEED.get(item["environment"], 0.8) * (1 + 0.03 * rng.standard_normal())
    first, init = 0.06 * base + 0.01 * ranks, 0.03 * base * ranks**0.5
    parts = {
        "first_instruction": first,
        "init": init,
        "all_heard": first + init + 0.004 * ranks,
        "launch": first + init + 0.05 * base,
    }
    if item["environment"].startswith("lam"):
        parts |= {"daemon_boot": 0.07 * ranks * base, "daemon_halt": 1.0 * base}
    return [metric(name, value) for name, value in parts.items()]


METRICS = {"hpl": _hpl, "pt2pt": _pt2pt, "startup": _startup}
