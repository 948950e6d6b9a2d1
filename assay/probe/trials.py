# SPDX-License-Identifier: Apache-2.0
"""Environments of a site as trials of a probe job: the shell text that tries them, what they print,
the faults of each environment.

The functions that the text calls are in probe.sh.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from assay.probe.node_text import node_facts, sections_of
from assay.sites.description import EnvironmentKeys
from assay.sites.site import Site
from checks.common.evidence import Claim, Evidence, contradictions
from checks.common.json_lines import marked_lines, read_evidence, whole_object
from checks.common.session.launch_commands import LAUNCHERS, launch_words
from records.site.node_facts import NodeFacts
from records.text.plain_text import one_line, speaking
from records.waiting import ATTEMPT_S, scaled

#: The last line that a script of ours prints.
END_MARK = "== end"
_STATUS = re.compile(r"status=(\d+) begun=([\d.]+) ended=([\d.]+)")
#: Open MPI's warnings of several lines.
_BOXED_WARNING = re.compile(r"^-{9,}\n(WARNING:.*?)^-{9,}$", re.MULTILINE | re.DOTALL)
#: Seconds before session.sh kills what has not ended by its limit.
_KILLED_AFTER_S = 5.0
#: Lines of a build's or a program's output that a message shows.
_SHOWN_LINES = 40


@dataclass(frozen=True)
class Attempt:
    """A way to start ranks: a shell line, to which program and arguments are added. `label` is for
    readers, e.g. "srun --mpi=pmix"."""

    label: str
    line: str


@dataclass(frozen=True)
class Trial:
    """An environment to be tried: how it is prepared, its compiler, the ways to start its ranks.

    `prologue`: shell lines that make a shell ready, or end it. `preload`: a library that ranks
    preload. `helpers`: preloads and the programs that mind daemons are built, too.
    """

    name: str
    compiler: str
    attempts: Sequence[Attempt]
    prologue: str = ""
    preload: str = ""
    helpers: bool = False

    @property
    def build_key(self) -> tuple[str, str, bool]:
        """Trials that are alike in it share a build."""
        return self.compiler, self.prologue, self.helpers

    def build_words(self, out: str) -> str:
        """Arguments of the build: its folder, the compiler, the targets."""
        return shlex.join([out, self.compiler, "evidence", *["daemon"] * self.helpers])

    def preparation(self, out: str) -> str:
        """Lines that prepare its shell; their output goes to a file of the folder `out`."""
        return f"{{\n{self.prologue or ':'}\n}} >{out}/prepare.out 2>&1 </dev/null"


def trial_of(
    site: Site,
    name: str,
    ranks: int,
    ranks_per_node: int,
    ways: Iterable[EnvironmentKeys] = (),
) -> Trial:
    """An environment, started as it is described, or in several ways in turn until one is right."""
    environment = site.description.environments[name]
    known = list(ways) or [environment]
    attempts = []
    for way in known:
        mpirun, template = way.mpirun or "", way.launcher_command or ""
        words = launch_words(way.launcher, ranks, ranks_per_node, mpirun=mpirun, template=template)
        words += way.launcher_options
        # Inside the session of every launch.
        limit = f"{scaled(ATTEMPT_S):.0f}"
        session = ["./session.sh", LAUNCHERS[way.launcher].daemons, limit, *words]
        attempts.append(Attempt(shlex.join(words), shlex.join(session)))
    daemons = any(LAUNCHERS[way.launcher].daemons != "none" for way in known)
    return Trial(
        name,
        environment.compiler,
        attempts,
        prologue="\n".join(site.preparation(name)),
        preload=environment.preload,
        helpers=daemons or bool(environment.preload),
    )


def login_build_script(folder: str, trials: Sequence[Trial], outs: Sequence[str]) -> str:
    """Script that compiles all trials on the login node, each in a shell of its own."""
    parts = [
        f"(\nmkdir -p {out}\n{trial.preparation(out)}\nbuild_placement {trial.build_words(out)}\n)"
        for trial, out in zip(trials, outs, strict=True)
    ]
    return "\n".join([_begin(folder), *parts])


def job_script(
    folder: str, trials: Sequence[Trial], outs: Sequence[str], ranks: int, nodes: int
) -> str:
    """The whole job: facts of its nodes, then each trial, in a shell of its own; its attempts in
    turn until one starts ranks right."""
    parts = ["#!/bin/bash", _begin(folder), "facts_of_nodes"]
    for number, (trial, out) in enumerate(zip(trials, outs, strict=True)):
        parts += [
            "(",
            f"begin_trial {number}",
            trial.preparation('"$work"'),
            f"try_build {trial.build_words(out)}",
            f"export ASSAY_PRELOAD={shlex.quote(trial.preload)}",
            *(
                f"attempt {index} {ranks} {nodes} {one.line} && exit 0"
                for index, one in enumerate(trial.attempts)
            ),
            ")",
        ]
    return "\n".join([*parts, f"echo '{END_MARK}'", ""])


def _begin(folder: str) -> str:
    return f"""\
here={shlex.quote(folder)}
cd "$here" || {{ echo "not shared: $(hostname) has no $here"; exit 1; }}
. ./probe.sh"""


@dataclass(frozen=True)
class JobEnd:
    """A job that has ended: Slurm's last word of it, and what it printed (None: not to be seen)."""

    job_id: str
    state: str
    output: str | None


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """A way to start ranks as it went: its output in full, and the ranks' own evidence."""

    label: str
    status: int
    seconds: float
    output: str
    errors: str
    evidence: Evidence | None = None

    @property
    def right(self) -> bool:
        """True where the ranks were as many as asked for, evenly on as many nodes."""
        return self.status == 0 and self.evidence is not None

    @property
    def reason(self) -> str:
        """Why it was not right, in a line: a warning only where nothing else was printed."""
        reasons = [line for line in self.output.splitlines() if line.startswith("placement: ")]
        lines = _BOXED_WARNING.sub(lambda box: one_line(box[1]), self.errors).splitlines()
        reasons += sorted(speaking(lines), key=lambda line: "warning:" in line.lower())
        if self.status == 124 or (self.status == 137 and self.seconds >= _KILLED_AFTER_S):
            reasons.insert(0, f"did not end within its {self.seconds:.0f} s")
        reasons.append(f"ended with status {self.status}, said nothing")
        return one_line(reasons[0])[:300]


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """An environment as a job found it; `build_status` None: the job did not come so far.

    `ready`: modules and other preparations succeeded, which print `prepared`; `modules` and
    `variables` are all that its shell has then.
    """

    name: str
    ready: bool = False
    modules: list[str] = []
    variables: dict[str, str] = {}
    prepared: str = ""
    compiler_version: str | None = None
    compiles_with: str | None = None
    build_status: int | None = None
    build_output: str = ""
    attempts: list[AttemptResult] = []

    @property
    def right(self) -> AttemptResult | None:
        """The attempt that started ranks right."""
        return next((attempt for attempt in self.attempts if attempt.right), None)


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a job: its nodes in order, their facts, its trials by name.

    `shared`: every node reads and writes the folder that the login node sees.
    """

    job_id: str
    state: str
    shared: bool
    said: str
    allocated: list[str]
    nodes: dict[str, NodeFacts]
    trials: dict[str, TrialResult]


def faults_of(
    site: Site, name: str, result: ProbeResult, ranks_per_node: int, *, counted: bool | None = None
) -> list[str]:
    """Why an environment cannot be measured as it is described; none where the job proved it.

    A fault of a build or a start comes with what was printed, in full up to 40 lines. `counted`:
    whether interface counters are to have seen the messages; None: as described.
    """
    trial, described = result.trials[name], site.description
    if not trial.ready:
        return [f"its modules or `prepare` lines fail on a node:\n{_tail(trial.prepared)}"]
    if trial.build_status != 0:
        return [f"its programs do not compile:\n{_tail(trial.build_output)}"]
    if not trial.attempts:
        return [f"its ranks were not started: the job ended {result.state}"]
    if trial.right is None:
        reasons = "; ".join(f"{attempt.label}: {attempt.reason}" for attempt in trial.attempts)
        return [f"its ranks do not start right: {reasons}"]
    claim = Claim(
        nodes=result.allocated,
        ranks=len(result.allocated) * ranks_per_node,
        ranks_per_node=ranks_per_node,
        library_pattern=described.environments[name].library,
        device=described.environments[name].device,
        wire_is_counted=described.network.counted if counted is None else counted,
    )
    return contradictions(trial.right.evidence, claim)


def _tail(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-_SHOWN_LINES:]) or "    (nothing was printed)"


def read_probe(end: JobEnd, trials: Sequence[Trial], token: str) -> ProbeResult:
    """The result of a job that has ended."""
    text = end.output or ""
    sections = sections_of(text)
    allocated = re.search(r"^nodes=(.*)$", sections["job"], re.MULTILINE)
    nodes = {
        name.removeprefix("node/"): re.sub(r"^=== ", "== ", content, flags=re.MULTILINE)
        for name, content in sorted(sections.items())
        if re.fullmatch(r"node/[\w.-]+", name)
    }
    seen = any(token in content for content in nodes.values())
    unshared = re.findall(r"^not shared: .*$", text, re.MULTILINE)
    return ProbeResult(
        job_id=end.job_id,
        state=end.state,
        shared=seen and not unshared and sections["token"].strip() == token,
        said="; ".join(map(one_line, unshared[:3])) or one_line(text.strip()[-300:]),
        allocated=allocated[1].split() if allocated else [],
        nodes={name: node_facts(content) for name, content in nodes.items()},
        trials={one.name: _trial(f"trial/{n}", one, sections) for n, one in enumerate(trials)},
    )


def _trial(head: str, trial: Trial, sections: Mapping[str, str]) -> TrialResult:
    loaded = _named(sections[f"{head}/modules"]).get("loaded", "")
    compiler = _named(sections[f"{head}/compiler"])
    prepared = sections[f"{head}/prepare"]
    status, _, printed = sections[f"{head}/build"].partition("\n")
    return TrialResult(
        name=trial.name,
        ready="ready=yes" in prepared.partition("\n")[0],
        modules=[name for name in loaded.split(":") if name],
        variables=_named(_unquoted(sections[f"{head}/variables"])),
        prepared=_unquoted(prepared),
        compiler_version=one_line(compiler.get("version", ""))[:300] or None,
        compiles_with=one_line(compiler.get("shows", ""))[:2000] or None,
        build_status=int(status) if re.fullmatch(r"\d{1,3}", status) else None,
        build_output=_unquoted(printed),
        attempts=[
            _attempt(
                attempt.label,
                *(sections[f"{head}/{part}/{n}"] for part in ("attempt", "out", "err")),
            )
            for n, attempt in enumerate(trial.attempts)
            if f"{head}/attempt/{n}" in sections
        ],
    )


def _named(text: str) -> dict[str, str]:
    """The lines NAME=VALUE of a text."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _attempt(label: str, ended: str, out: str, err: str) -> AttemptResult:
    """The attempt with its evidence, if exactly one line has it: several are of ranks alone."""
    times, output = _STATUS.search(ended), _unquoted(out)
    try:
        entries = [whole_object(line) for line in marked_lines(output)]
        evidence = [read_evidence(one) for one in entries if one.get("assay") == "evidence"]
    except ValueError:
        evidence = []
    return AttemptResult(
        label=label,
        status=int(times[1]) if times else -1,
        seconds=float(times[3]) - float(times[2]) if times else 0.0,
        output=output,
        errors=_unquoted(err),
        evidence=evidence[0] if len(evidence) == 1 else None,
    )


def _unquoted(text: str) -> str:
    """The output of a program: each line without the mark before it."""
    return "\n".join(line[2:] for line in text.splitlines() if line.startswith("| "))
