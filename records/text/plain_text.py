# SPDX-License-Identifier: Apache-2.0
"""Text of programs as it may leave: without what a terminal executes or a reader cannot see, and
without values that look like a token, a password or a key, whose names stay.

Everything that prints or writes pages passes its text through here. A value is taken for a secret
by the name that it is given (DB_PASSWORD=…, --api-key …, user:…@host), or because it begins as the
tokens of usual services do. Nothing else is looked for. Names with numbers have the order that
people expect.

Of why a launch ended badly, lines of launchers that say no more than that a rank ended, of srun,
Open MPI 4 and 5 and hydra, are set apart; reasons that say the same are grouped.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

#: Replaces a character that is not shown.
SUBSTITUTE = "\ufffd"
_FORBIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # direction of writing
    "\u2028\u2029"  # separators of lines and paragraphs
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff"  # no characters at all
    "\U000e0000-\U000e007f"  # tags
    "]"
)


def plain(text: str) -> str:
    """`text` with a mark in place of each control character; newlines and tabs stay."""
    return text if text.isprintable() else _FORBIDDEN.sub(SUBSTITUTE, text)


#: Spaces at which no line may break: before a unit, round × and ±, after a sign of comparison.
_WITHIN = re.compile(
    r"(?<=[\d∞⁰¹²³⁴⁵⁶⁷⁸⁹]) (?=(?:[%×±]|[µmn]?s|min|h|[kMG]?(?:Hz|W|J)|[MG]UPS|ns/day|[KMGT]?i?B"
    r"|(?:[kMGTPE]?(?:B|flop|bit|cell|update)|bytes|million|thousand)/s|1/s|bytes|points)(?![\w/]))"
    r"|(?<=[≤≥≈<>=±]) (?=[−+]?[\d∞])|(?<=[\d³] ×) (?=\d)|(?<=\bn) (?== \d)"
)


def unbroken(text: str) -> str:
    """The text with spaces that do not break inside quantities."""
    return _WITHIN.sub("\u00a0", text)


def plain_data(data: Any) -> Any:
    """Plain data, as JSON has it, with each text in it plain."""
    if isinstance(data, dict):
        return {plain(name): plain_data(one) for name, one in data.items()}
    if isinstance(data, list):
        return [*map(plain_data, data)]
    return plain(data) if isinstance(data, str) else data


def one_line(text: str) -> str:
    """`text` as part of a line: plain, and what separates words is a blank."""
    return text if text.isprintable() else " ".join(plain(text.replace("\r", " ")).split())


def natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names with n2 before n10."""
    return tuple(sorted(names, key=natural))


def natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    parts = re.findall(r"\d+|\D", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


#: Stands in place of the value.
WITHHELD = "(withheld: looks like a secret)"
_BEGIN = WITHHELD.partition(" ")[0]

#: Parts of names that say so wherever they stand, and shorter ones that are whole words.
_TELLING = (
    r"(?:TOKEN|JWT|SECRET|PASSWORD|PASSWD|PASS-?PHRASE|PASSCODE"
    r"|(?:API|ACCESS|AUTH|PRIVATE|LICEN[CS]E)[_-]?KEY)"
)
_SHORT = r"(?:PW|PSK|PASS|AUTH|CRED(?:ENTIAL)?S?|COOKIE|KEY)"
_NAME = re.compile(rf"{_TELLING}|(?:^|[_.\-\s]){_SHORT}(?:$|[_.\-\s\d])", re.IGNORECASE)
_VALUE = (  # quoted, or up to a blank or what ends a word of a shell or a sentence
    r"(?P<value>\"(?:\\.|[^\"\\\n]){1,4000}\"|'[^'\n]{1,4000}'"
    r"|[^\s;&\"'<>](?:[^\s;&\"'<>]*[^\s;&\"'<>,)])?)"
)
#: `value` is withheld where there is one, else all of it.
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hf_|AKIA|eyJ)[\w.-]{12,4000}"
        r"|-----BEGIN [A-Z ]*-----[^-]*|\$(?:1|2[aby]?|5|6|y)\$[\w./$=,+-]{8,}",
        r"(?P<lead>://)(?P<value>[^/\s:@]{0,200}:[^/\s@]{1,200}|[^/\s:@]{4,200})(?=@)",
        r"(?P<lead>\b(?:Authorization|Cookie|Bearer)\b[\"']?[ \t]*[:=]?[ \t]*[\"']?"
        rf"(?:(?:Basic|Bearer)[ \t]+)?){_VALUE}",
        rf"(?P<lead>{_TELLING}\w*[\"']?[ \t]*[:=][ \t]*){_VALUE}",
        rf"(?P<lead>(?<![^\W_]){_SHORT}\d*[ \t]*=[ \t]*){_VALUE}",
        rf"(?P<lead>(?<![\w-])--?(?:[\w-]{{0,40}}[_-])?(?:{_TELLING}|{_SHORT})"
        rf"[\"']?(?:,?[ \t]+|=)){_VALUE}",
        r"(?P<lead>(?<![\w-])(?:-[a-z]{0,4}u|--(?:proxy-)?user(?:pwd)?)[\"',= \t]*)"
        r"(?P<value>[^\s:\"'/,]+:[^\s\"']+)",  # user:password, as curl and others have it
    )
]
#: Folders that lead to this checkout, to another one, and to what a run keeps.
_ABOVE = re.compile(
    rf"/(?:{re.escape(str(Path(__file__).resolve().parents[2])[1:])}/|(?:[\w.+@~=-]+/){{1,40}}"
    r"(?=(?:checks/common|site-config|spack-env|virtual_cluster)/|\d{8}T\d{6}Z-[0-9a-f]{4}))"
)


def masked(text: str) -> str:
    """A program's text with its tokens and passwords withheld; their names stay. Of paths what lies
    above a checkout or a run is left out. Masked text stays as it is."""
    return _ABOVE.sub("…/", _without_values(text))


def _without_values(text: str) -> str:
    def withheld(match: re.Match[str]) -> str:
        parts = match.groupdict()
        if parts.get("value", "").startswith(_BEGIN):
            return match[0]
        return (parts.get("lead") or "") + WITHHELD

    for pattern in _PATTERNS:
        text = pattern.sub(withheld, text)
    return text


def looks_secret(name: str, value: str) -> bool:
    """Tell whether the name says that the value is a secret, or the value looks like one."""
    return bool(value) and (_NAME.search(name) is not None or _without_values(value) != value)


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """Names with their values, those that look like a secret withheld."""
    return {n: WITHHELD if looks_secret(n, value) else value for n, value in values.items()}


NO_REASON = "no reason recorded"
#: What differs between launches that ended for one reason: quoted text, paths, ids, names of nodes
#: and hosts, numbers.
_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|\S*\d\S*")


class ReasonGroup(NamedTuple):
    """Launches with one status whose reasons differ in names and numbers only. `reason` is the most
    frequent text, `places` those of the launches among all that were given."""

    status: str
    reason: str
    places: tuple[int, ...]


def _text(reason: str | None) -> str:
    return one_line(reason or "").strip() or NO_REASON


def alike(reason: str | None) -> str:
    """Text that reasons which say the same have in common."""
    return _VARIES.sub("#", _text(reason))


def grouped(reasons: Iterable[tuple[str, str | None]]) -> list[ReasonGroup]:
    """(status, reason) of launches as groups, the greatest first."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for place, (status, reason) in enumerate(reasons):
        found.setdefault((status, alike(reason)), []).append((place, _text(reason)))
    groups = []
    for (status, _), mine in found.items():
        places, texts = zip(*mine, strict=True)
        groups.append(ReasonGroup(status, Counter(texts).most_common(1)[0][0], places))
    return sorted(groups, key=lambda group: -len(group.places))


_SRUN = (
    r"srun: error: \S+: tasks? [\d,-]+: (?!Out Of Memory)|srun: (Job step aborted|Terminating )",
    r"srun: (error: )?(First task exited|forcing job termination|Timed out waiting for job step)",
    r"srun: (step:\S+ tasks|launch/slurm: _(task_finish|step_signal):|mpi/\w+: )",
    r"slurmstepd: error: \*\*\* (STEP|JOB) (?!.*DUE TO)|In: PMI_Abort\(",
)
_OPEN_MPI = (
    r"Primary job +terminated normally|a non-zero exit code\. Per user-direction",
    r"\S*(mpirun|mpiexec|prte|prun)\S* (detected that one or more|noticed that|has exited due to)",
    r"(thus causing )?the job to be terminated\. The first process|Process name: \[|Exit code: +\d",
    r"node \S+ (exiting improperly|calling \"abort\")|MPI_ABORT was invoked|with errorcode \d",
    r"\"abort\"\. This may have caused other proc|terminated by signals sent by \S+ \(as reported",
    r"Proc: \[|Errorcode: |NOTE: invoking MPI_ABORT|You may or may not see output from other",
    r"exactly when Open MPI kills|\[\S+:\d+\] (\d+ more process|Set MCA parameter \"orte)",
    r"\[\S+:\d+\] (PMIX ERROR|\*{3} |Signal code:|Failing at|\[ *\d+\] )",
)
_HYDRA = (
    r"= +(BAD TERMINATION|(RANK \d+ )?PID \d+ RUNNING|EXIT CODE|KILLED BY|CLEANING|YOU CAN IGNORE)",
    r"YOUR APPLICATION TERMINATED WITH|This typically refers to a problem with your app",
    r"Please see the FAQ page|\[(proxy:[\d:]+|mpiexec)@\S+\] |(Abort\(.*)?application called",
    r"=+ backtrace|\d+ +\S+\(\S*\) *\[0x",
)
_EPITAPH = rf"\s*(?:{'|'.join((*_SRUN, *_OPEN_MPI, *_HYDRA))})"  # compiled when it is used
_HOW = re.compile(r"signal|exit (code|status|string)|tasks? \d", re.IGNORECASE)


def speaking(lines: Iterable[str]) -> list[str]:
    """The lines that may say why a launch failed: those that are no epitaph; without any, the
    epitaphs that tell how it ended. Rulers and blank lines say nothing."""
    worded = [line.strip() for line in lines if any(map(str.isalnum, line))]
    said = [line for line in worded if not re.match(_EPITAPH, line)]
    return said or [line for line in worded if _HOW.search(line)] or worded
