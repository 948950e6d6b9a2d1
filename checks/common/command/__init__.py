# SPDX-License-Identifier: Apache-2.0
"""A command line as a check: its definition is made of what a campaign file says of it; what it
printed is read by the campaign's expressions.

An expression is matched with one line at a time, of which LINE_CHARACTERS are read. All together
may take LIMIT_S: an expression with nested repetitions can take for ever.
"""

import ast
import hashlib
import math
import operator
import re
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, geometric_mean, median
from typing import Any, Literal

import msgspec
from pydantic import create_model

from checks.common.answer import Reading
from checks.common.definition import CheckDefinition, Layout, SiteCapacity
from checks.common.json_lines import OutputError, marked_lines, measured
from checks.common.parameters import Parameters, ProfiledParameters, Ranks, RanksPerNode, quantity
from checks.common.session.launch_commands import fields_of
from records.metric import Metric
from records.run.brought import Caught, CommandLine
from records.sections import Scalar

#: Placeholders that each launch gives a value for.
GIVEN = ("ranks", "ranks_per_node", "nodes", "cpus_per_task", "program")
#: Seconds of a launch until one was timed: most are short.
_ROUGH_S = 1.0
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh"}


class CommandDefinition(CheckDefinition[Any]):
    """A command line of a campaign. Its placeholders are its parameters, and so is a digest of all
    that is said of it: two commands have no case in common."""

    line: CommandLine
    deciding = ""
    sizing = frozenset({"nodes"})

    def __init__(self, name: str, line: CommandLine) -> None:
        self.line, self.without_mpi = line, line.launch == "none"
        metrics = tuple(one.metric for one in line.metrics)
        # Of every definition these are attributes of its class.
        self.__dict__.update(
            name=name,
            title=line.title,
            metrics=metrics,
            deciding=metrics[0].name,
            shown=metrics[0].name,
            history_metrics=tuple(one.name for one in metrics[1:]),
            features=frozenset(
                [
                    *([] if self.without_mpi else ["mpi"]),
                    *([f"program:{line.program}"] if line.program else []),
                ]
            ),
            builds=("Programs", *([self.build_name] if line.build else [])),
            parameters=_parameters(line, self.digest),
        )

    @property
    def digest(self) -> str:
        """Of all that decides what is run and how it is read, files included."""
        said = msgspec.structs.replace(self.line, title="", ranks=1, ranks_per_node=1)
        return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]

    @property
    def build_name(self) -> str:
        """Name of the build fixture."""
        return f"Command_{self.digest}"

    def words(
        self, params: Any, cpus_per_task: int, ranks_per_node: int, program: str = ""
    ) -> list[str]:
        """The words of the command for a launch; a value is never split, nor read by a shell.
        `program` is the path of the site's."""
        given = {k: str(v).lower() if isinstance(v, bool) else v for k, v in dict(params).items()}
        values = given | {
            "ranks_per_node": ranks_per_node,
            "nodes": -(-params.ranks // ranks_per_node),
            "cpus_per_task": cpus_per_task or 1,
            "program": program,
        }
        return [word.format_map(values) for word in shlex.split(self.line.command)]

    def memory_bytes_per_node(self, params: Any, cores_per_node: int) -> int:
        """Not known."""
        return 0

    def estimate_s(self, params: Any, layout: Layout, site: SiteCapacity) -> float:
        """A rough time until launches were timed."""
        return site.launch_overhead_s + _ROUGH_S

    def write_files(self, folder: Path) -> None:
        """Write the files of the campaign."""
        for file in self.line.files:
            (folder / file.name).write_bytes(file.content)
            (folder / file.name).chmod(0o755 if file.executable else 0o644)


def _parameters(line: CommandLine, digest: str) -> type[Parameters]:
    alone = line.launch == "none"
    fields: dict[str, Any] = {
        "ranks": (
            Literal[1] if alone else Ranks,
            quantity("Ranks of the launch.", "ranks", line.ranks),
        ),
        "ranks_per_node": (
            Literal[1] if alone else RanksPerNode,
            quantity("Ranks on each node.", "ranks", 1 if alone else line.ranks_per_node),
        ),
        "digest": (Literal[digest], quantity("Digest of command and files.", "none", digest)),
        **{name: (Scalar, quantity(f"Value of {{{name}}}.", "none")) for name in line.names},
    }
    base = Parameters if alone else ProfiledParameters
    made: type[Parameters] = create_model("CommandParameters", __base__=base, **fields)
    return made


def placeholders(command: str) -> list[str]:
    """Names of the placeholders of a command that cases give values for. Raises ValueError for a
    command that cannot be read, and for a placeholder inside of a shell's script."""
    each, names = fields_of(command), list[str]()
    words = shlex.split(command)
    if not words:
        raise ValueError("is empty; allowed is a program with its arguments")
    for index, fields in enumerate(each):
        for name, form in fields:
            if form or not name.isidentifier() or name.startswith("_") or name == "digest":
                raise ValueError(
                    f"holds {{{name}}} in another form than {{name}}; braces are {{{{ and }}}}"
                )
        option = words[index - 1] if index else ""
        is_script = option.startswith("-") and "c" in option
        if fields and is_script and _SHELLS & {Path(word).name for word in words[:index]}:
            raise ValueError(
                f"has {{{fields[0][0]}}} in the script of a shell, which would execute its value;"
                f" pass it as an argument: sh -c 'echo \"$1\"' - {{{fields[0][0]}}}"
            )
        names += [name for name, _ in fields if name not in GIVEN]
    return list(dict.fromkeys(names))


LINE_CHARACTERS = 4096
LIMIT_S = 10.0
#: By how much a value may differ from its formula: what is printed is rounded.
FORMULA_SHARE, FORMULA_DIGIT = 2e-3, 2e-6


@dataclass(frozen=True)
class Match:
    """A line that an expression matched: number from 1, text, begin and end of the group."""

    number: int
    line: str
    begin: int
    end: int

    @property
    def text(self) -> str:
        """Text that the group caught."""
        return self.line[self.begin : self.end]


def expression_fault(text: str, groups: int | None = None) -> str | None:
    """Fault of an expression, which must have so many groups, or None."""
    try:
        found = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression ({error}); allowed are those of Python's re"
    if groups is not None and found.groups != groups:
        return (
            f"has {found.groups} groups; allowed is {groups}, around the number: write (?:…) for"
            " parentheses that catch nothing"
        )
    return None


def own_lines(text: str) -> list[str]:
    """The lines that a launch printed, those of its own empty."""
    ours = set(marked_lines(text))
    lines = (line.rstrip("\r") for line in text.split("\n"))
    return ["" if line in ours else line[:LINE_CHARACTERS] for line in lines]


@contextmanager
def within(limit_s: float, what: str) -> Iterator[None]:
    """Raises OutputError where what is done within takes longer."""

    def late(*_: object) -> None:
        raise OutputError(
            f"{what} took more than {limit_s:g} s; replace nested repetitions such as (a+)+"
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def matches(expression: str, lines: Sequence[str]) -> list[Match]:
    """Every match of an expression; of one without a group, the whole match."""
    compiled = re.compile(expression)
    group = 1 if compiled.groups else 0
    return [
        Match(number, line, *found.span(group))
        for number, line in enumerate(lines, 1)
        for found in compiled.finditer(line)
    ]


def value_of(caught: Caught, found: Sequence[Match]) -> Metric:
    """The metric of these matches. Raises OutputError where it is missing or no number."""
    name = caught.metric.name
    if not found:
        raise OutputError(
            f"metric {name} is missing: no line of {caught.stream} matches {caught.find!r:.200}"
        )
    if caught.of == "only" and len(found) > 1:
        places = ", ".join(str(one.number) for one in found[:5])
        raise OutputError(
            f"metric {name}: {len(found)} matches, in lines {places}; say which by `of`, or make"
            " the expression stricter"
        )
    numbers = []
    for one in found:
        try:
            numbers.append(float(one.text) * caught.factor)
        except ValueError:
            said = f"metric {name}: {one.text!r:.80} in line {one.number} is no number"
            raise OutputError(said) from None
    choose = {"first": lambda n: n[0], "last": lambda n: n[-1], "only": lambda n: n[0]}
    choose |= {"min": min, "max": max, "sum": sum, "mean": fmean, "each": median}
    choose["geomean"] = geometric_mean
    samples = numbers if caught.of == "each" else None
    for number in numbers:
        measured(caught.metric, number)
    return measured(caught.metric, choose[caught.of](numbers), None, samples)


def _beyond(
    line: CommandLine, metrics: Sequence[Metric], memory_bytes: float | None
) -> Iterator[str]:
    """Faults of values: too small or great, or other than the formula of others says."""
    pairs = list(zip(line.metrics, metrics, strict=True))
    printed = {one.metric.name: found.value / one.factor for one, found in pairs}
    for one, found in pairs:
        name, unit = found.name, found.unit
        memory = one.memory_share and memory_bytes and one.memory_share * memory_bytes
        least = max(one.at_least or 0.0, memory or 0.0)
        if found.value < least:
            share = f", {one.memory_share:g} of the nodes' memory" if least == memory else ""
            yield f"{name} is {found.value:.6g} {unit}; allowed is at least {least:.6g}{share}"
        if one.at_most is not None and found.value > one.at_most:
            yield f"{name} is {found.value:.6g} {unit}; allowed is at most {one.at_most:.6g}"
        if one.equals:
            right = value_of_formula(one.equals, printed)
            if abs(printed[name] - right) > FORMULA_SHARE * abs(right) + FORMULA_DIGIT:
                yield f"{name} is {printed[name]:.6g}; by {one.equals} it is {right:.6g}"


def read(
    line: CommandLine,
    text: str,
    memory_bytes: float | None = None,
    errors: Callable[[], str] = lambda: "",
) -> Reading:
    """The metrics of what a command printed, or what is wrong with it. `memory_bytes`: of the
    launch's nodes together; None: shares of it are not asked for. `errors` reads its stderr, where
    that is needed. Raises OutputError."""
    lines, said = own_lines(text), cache(errors)
    with within(LIMIT_S, "reading the output by the campaign's expressions"):
        for expression in line.wrong:
            if found := matches(expression, lines):
                shown = f"line {found[0].number} matches {expression!r:.200}, which is wrong"
                return Reading(wrong=f"{shown}: {found[0].line.strip()!r:.200}")
        for expression in line.right:
            if not matches(expression, lines):
                return Reading(wrong=f"no line matches {expression!r:.200}, which must be there")
        metrics = [
            value_of(one, matches(one.find, own_lines(said()) if one.stream == "stderr" else lines))
            for one in line.metrics
        ]
        wrong = next(_beyond(line, metrics, memory_bytes), None)
        return Reading(wrong=wrong) if wrong else Reading(metrics)


_LONGEST = 300
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_ALLOWED = "allowed are numbers, names of metrics, + - * / **, parentheses and sqrt(…)"


def value_of_formula(text: str, values: Mapping[str, float]) -> float:
    """The value of a formula over named values. Raises ValueError for another text, another name,
    and where it has no value."""
    if len(text) > _LONGEST:
        raise ValueError(f"has {len(text)} characters; allowed are {_LONGEST}")

    def of(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sqrt" and not node.keywords:
            return math.sqrt(*map(of, node.args))
        if isinstance(node, ast.Name):
            raise ValueError(f"has no metric {node.id}; there are {', '.join(values) or 'none'}")
        raise ValueError(f"holds {ast.unparse(node)!r:.60}; {_ALLOWED}")

    try:
        return of(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError(f"cannot be read; {_ALLOWED}") from None
    except ArithmeticError as error:
        raise ValueError(f"has no value ({error})") from None
