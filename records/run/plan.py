# SPDX-License-Identifier: Apache-2.0
"""The plan: every case of a campaign on one site, as `plan.json` keeps it.

A case's id is a hash of what it is: the same case has the same id in every run and site.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from records.errors import AssayError
from records.input_files import decoded, line_with
from records.metric import CheckDescription, MetricDefinition, Register
from records.run.brought import Brought
from records.text.plain_text import plain, plain_data
from records.values import Count, Integer, Params, Scalar, Word

SCHEMA = 2
#: Greatest number of passes over all cases.
MOST_BLOCKS = 10_000
#: Digits of a case's id: the usual ones, and those of cases that share these.
SHORT_DIGITS, LONG_DIGITS = 8, 16
_Share = Annotated[float, msgspec.Meta(ge=0)]

#: Canonical spelling of a JSON value: keys sorted, no blanks, UTF-8, no NaN.
canonical_json = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def case_digest(
    check: str, environment: str, params_json: str, job: Mapping[str, Any] | None = None
) -> str:
    """SHA-256 over the canonical JSON of {check, environment, params}, in hexadecimal. `job` is
    what the case asks of its job beside ranks, a further key where there is such."""
    # The keys are in sorted order, so the parts can be put together; params are encoded once.
    parts = {"check": canonical_json(check), "environment": canonical_json(environment)}
    parts |= {"job": canonical_json(job)} if job else {}
    text = ",".join(f'"{name}":{part}' for name, part in (*parts.items(), ("params", params_json)))
    return hashlib.sha256(f"{{{text}}}".encode()).hexdigest()


def case_ids(checks: Sequence[str], digests: Sequence[str]) -> list[str]:
    """The ids "check-digest" with 8 digits; cases of a campaign that share those take 16: of
    100,000 cases about one pair shares 32 bits."""
    short = [f"{c}-{d[:SHORT_DIGITS]}" for c, d in zip(checks, digests, strict=True)]
    times = Counter(short)
    return [
        name if times[name] == 1 else f"{check}-{digest[:LONG_DIGITS]}"
        for name, check, digest in zip(short, checks, digests, strict=True)
    ]


class PlannedCase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A case with its layout and estimated time; `skipped` says why it cannot run, or is None.

    `estimate_s` is the time of a launch: the median of `measured` launches of the case; else, with
    `rough_s`, in proportion to another case of its check; else the shipped estimate, which is
    rough. `rough_s` is the shipped estimate where it is not `estimate_s`.
    `stored_bytes` are those of the files that a launch has at a time, on storage under test.
    `params` are complete (defaults filled in, sizes explicit); cases that differ only in their
    environment share the object. `cpus_per_task` and `resources` are what the job asks for besides
    nodes; `alone`, whether no other launch of the allocation may run meanwhile, None: as it shares
    the network with them; `switches`, whether its nodes lie at one switch or at several, None:
    anywhere.
    """

    id: Word
    check: Word
    environment: Word
    params: Params
    ranks: Count
    ranks_per_node: Count
    nodes: Count
    memory_bytes_per_node: Count
    estimate_s: _Share
    rough_s: _Share | None = None
    measured: Count = 0
    stored_bytes: Count = 0
    cpus_per_task: Annotated[int, msgspec.Meta(ge=1)] | None = None
    resources: dict[str, dict[str, Scalar]] = {}
    alone: bool | None = None
    switches: Literal["one", "several"] | None = None
    skipped: str | None

    @property
    def asked(self) -> str:
        """Digest of what the case asks of its environment, that of its like in each other one."""
        return self._digest("")

    @property
    def generous_s(self) -> float:
        """The greater estimate, for limits of time."""
        return max(self.estimate_s, self.rough_s or 0.0)

    @property
    def least_s(self) -> float:
        """The lesser estimate, for refusals: one in proportion to another case may be far off."""
        return self.estimate_s if self.rough_s is None else min(self.estimate_s, self.rough_s)

    @property
    def has_its_id(self) -> bool:
        """Tell whether its id is that of its check, environment, parameters and job."""
        digest = self._digest(self.environment)
        return self.id in (f"{self.check}-{digest[:n]}" for n in (SHORT_DIGITS, LONG_DIGITS))

    def _digest(self, environment: str) -> str:
        asked = ("cpus_per_task", "resources", "switches")
        job = {name: value for name in asked if (value := getattr(self, name))}
        return case_digest(self.check, environment, canonical_json(self.params), job)


#: What a campaign can go on until it is known: what `Sequential.until` names.
QUESTIONS = ("score", "checks", "curves", "points")


class Extension(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks that were added after block `after` to a run of at most `planned` blocks, which had
    ended: it is judged after each block of `interims`. `going`: the checks that go on, by
    environment. The run had so many `records`; `version`: the Assay that extended it."""

    extended_at: str
    after: Annotated[int, msgspec.Meta(ge=1, le=MOST_BLOCKS)]
    planned: Annotated[int, msgspec.Meta(ge=1, le=MOST_BLOCKS)]
    interims: Annotated[
        list[Annotated[int, msgspec.Meta(ge=1, le=MOST_BLOCKS)]], msgspec.Meta(min_length=1)
    ]
    going: dict[str, list[str]]
    records: Annotated[int, msgspec.Meta(ge=1)]
    version: str | None = None

    def told(self) -> str:
        """Sentence of when which blocks were added."""
        at = self.extended_at[:19].replace("T", " ")
        return f"extended after block {self.after} to at most {self.interims[-1]} ({at} UTC)"


class Sequential(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Blocks are added until the questions `until` are answered: they are judged after each block
    of `interims`, ascending, the last being the plan's last. `extensions` are those of the run,
    which plan.json never has."""

    interims: list[Count]
    until: list[str]
    extensions: list[Extension] = []

    def extension_after(self, block: int) -> Extension | None:
        """The extension that was made after this block."""
        return next((one for one in self.extensions if one.after == block), None)

    @property
    def stages(self) -> list[tuple[int, int]]:
        """The first and last block of what was planned, then of each extension; the first is not
        included."""
        first = self.extensions[0].planned if self.extensions else self.interims[-1]
        return [(0, first), *((one.after, one.interims[-1]) for one in self.extensions)]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of a plan: `cases` count the skipped ones too; times are estimates over all blocks, the
    greatest number that a sequential design may come to; `wall_s` is that of the whole run."""

    cases: Count
    skipped: Count
    launches: Count
    node_hours: float
    wall_s: float


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Times of a run besides its launches, in seconds: `start_s` until the first one, `build_s`
    for each of its `builds`, `between_s` between two launches; `at_once` of them run side by side.
    `runs` are the earlier runs of the site from which the times are learned, the newest first."""

    runs: list[str] = []
    start_s: _Share = 0.0
    builds: list[str] = []
    build_s: _Share = 0.0
    between_s: _Share = 0.0
    at_once: Annotated[float, msgspec.Meta(ge=1)] = 1.0


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Cases of a run: those of every block, and what they were planned from.

    `metrics` and `checks` define what the planned checks can report; `checks_folders`
    are folders outside the tree that some of them came from, from which nothing is read; `brought`
    are those that the campaign itself defines.
    `absent` says why the site cannot give an environment that the campaign names, `left_out` which
    entries of it were left out and why, `narrowed` what the command line left, by option,
    `short` which launches may be too short to say something, and what would be long enough.
    `sequential` is None where all `blocks` are run, whatever comes out. `judged_by` names the
    criteria of an acceptance, on a real cluster and on a virtual one.
    """

    schema: int = SCHEMA
    campaign: Word
    question: str
    site: Word
    seed: Integer
    blocks: Annotated[int, msgspec.Meta(ge=1, le=MOST_BLOCKS)]
    sequential: Sequential | None = None
    environments: list[Word]
    variants: dict[Word, Params] = {}
    weights: dict[str, _Share] = {}
    limits: dict[str, Annotated[int, msgspec.Meta(ge=0, le=2**53)] | _Share | None] = {}
    judged_by: dict[Literal["real", "virtual"], Word] = {}
    totals: Totals
    times: Times = Times()
    metrics: list[MetricDefinition] = []
    checks: list[CheckDescription] = []
    checks_folders: list[str] = []
    brought: dict[str, Brought] = {}
    absent: dict[Word, str] = {}
    left_out: list[str] = []
    narrowed: dict[Word, list[str] | Count] = {}
    short: list[str] = []
    cases: list[PlannedCase]

    @cached_property
    def register(self) -> Register:
        """The metrics and checks that the plan carries."""
        return Register.of(self.metrics, self.checks)

    @cached_property
    def _environments(self) -> Mapping[str, set[str]]:
        """By check, the environments of its cases."""
        found = defaultdict[str, set[str]](set)
        for case in self.cases:
            found[case.check].add(case.environment)
        return found

    @property
    def weighed(self) -> dict[str, float]:
        """The weight of each check in a comparison, 1 each where the campaign declares none; one
        that a single environment measures compares nothing and has none."""
        weights = self.weights or dict.fromkeys(self._environments, 1.0)
        return {name: one for name, one in weights.items() if len(self._environments[name]) > 1}

    @property
    def mix_blocks(self) -> int:
        """Blocks of one mix, whose jobs are handed in at once: as many as limits.jobs_at_once has
        room for; 0 where one job is handed in after the other."""
        at_once = int(self.limits.get("jobs_at_once") or 0)
        jobs = sum(case.skipped is None for case in self.cases)
        return min(self.blocks, max(1, at_once // jobs)) if at_once and jobs else 0

    def to_json(self) -> str:
        """The text of plan.json: small parts first, then one case a line."""
        head = msgspec.json.encode(replace(self, cases=[])).decode()
        cases = ",\n".join(msgspec.json.encode(case).decode() for case in self.cases)
        return f"{head.removesuffix(']}')}\n{cases}\n]}}\n"

    def criteria_of(self, *, virtual: bool) -> str | None:
        """The name of the criteria that its campaign is made for on such a cluster, if any."""
        return self.judged_by.get("virtual" if virtual else "real")

    def brings(self) -> list[str]:
        """Programs that the campaign brings to be executed, a sentence a line."""
        lines = []
        for name, one in self.brought.items():
            where = self._environments[name]
            alone = f"; it runs in {min(where)} alone and has no weight"
            several = len(where) != 1 or len(self.environments) == 1
            lines.append(f"{name}: {one.told()}{'' if several else alone}")
        return lines

    def told(self) -> list[str]:
        """Parts of the campaign that are left, and why, a sentence a line; empty: all of it."""
        lines = [f"not on site {self.site}: {name} ({why})" for name, why in self.absent.items()]
        lines += [f"left out: {text}" for text in self.left_out]
        if self.narrowed:
            words = (
                f"--{option} {','.join(value) if isinstance(value, list) else value}"
                for option, value in self.narrowed.items()
            )
            lines.append(f"narrowed by the command line: {' '.join(words)}")
        return lines

    @classmethod
    def from_json(cls, text: str | bytes, file: str = "plan.json") -> Plan:
        """The plan of a text that `to_json` made, no control character in what it tells; `file` is
        its name for messages. Raises AssayError for anything else."""
        content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        try:
            plan = decoded(_decoder.decode, content, file, "a plan")
        except AssayError as error:
            raise AssayError(f"{error}; put back the file that `assay run` wrote") from error
        if plan.schema != SCHEMA:
            raise AssayError(
                f"{file}:1: is a plan of schema {plan.schema}; this Assay reads schema {SCHEMA}"
            )
        for fault, *member in plan._faults():
            raise AssayError(f"{file}:{line_with(content, *member)}: {fault}")
        # Parameters stay as records have them.
        head = plain_data(msgspec.to_builtins(replace(plan, cases=[])))
        cases = [
            replace(one, skipped=plain(one.skipped)) if one.skipped else one for one in plan.cases
        ]
        return replace(msgspec.convert(head, Plan), cases=cases)

    def _faults(self) -> Iterator[tuple[str, ...]]:
        """Faults that no plan of `assay run` has, with the members or words that find them."""
        for name, count in Counter(case.id for case in self.cases).items():
            if count > 1:
                yield f"{count} cases have the id {name!r}; ids must be unique", "cases", name
        if self.sequential is not None:
            looks = self.sequential.interims
            ascending = all(0 < a < b for a, b in pairwise([*looks, self.blocks + 1]))
            if not looks or looks[-1] != self.blocks or not ascending:
                told = f"`interims` must ascend from 1 or more to the {self.blocks} blocks"
                yield told, "sequential"
            if not {*QUESTIONS} >= {*self.sequential.until}:
                yield f"`until` may name {', '.join(QUESTIONS)} only", "sequential"
        for case in self.cases:
            if case.environment not in self.environments:
                told = f"case {case.id}: environment {case.environment!r} is none of the plan's"
                yield told, "cases", case.id
        try:
            self.register  # noqa: B018 names with two definitions are found here
        except ValueError as error:
            yield str(error), "metrics"


_decoder = msgspec.json.Decoder(Plan)
