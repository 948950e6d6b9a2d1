# SPDX-License-Identifier: Apache-2.0
"""`assay checks try`: the expressions of a campaign's command over an output that was captured."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.schema.document import did_you_mean, listed
from assay.schema.loading import load_campaign
from assay.schema.model import CommandEntry
from assay.terminal import say
from checks.common.answer import Reading
from checks.common.command import LIMIT_S, Match, matches, own_lines, read, within
from checks.common.json_lines import OutputError
from checks.common.registry import brought_by
from records.errors import AssayError, ExitStatus
from records.input_files import read_whole
from records.run.brought import CommandLine
from reports.notation.units import about

_SHOWN = 5
_USAGE = "assay checks try CAMPAIGN[:NAME] FILE; FILE is what the command printed, NAME its entry"


def try_command(words: Sequence[str]) -> int:
    """Show what each expression catches, and say what the launch would be."""
    if len(words) != 2:
        raise AssayError(f"checks try: {len(words)} arguments; allowed are two: {_USAGE}")
    line = _line(words[0])
    text = read_whole(Path(words[1])).decode("utf-8", "replace")
    try:
        with within(LIMIT_S, "reading the output by the campaign's expressions"):
            for one in _told(line, own_lines(text)):
                say(one, hang=4)
        reading = read(line, text, errors=lambda: text)
    except OutputError as error:
        reading = Reading(wrong=str(error))
    if reading.wrong is not None:
        say(f"such a launch is wrong: {reading.wrong}", hang=0)
        return ExitStatus.FAIL
    values = ", ".join(f"{one.name} {about(one.value, one.unit)}" for one in reading.metrics)
    say(f"such a launch is ok: {values}", hang=0)
    return ExitStatus.PASS


def _line(asked: str) -> CommandLine:
    """The command that "CAMPAIGN:NAME" means, or the only one of a campaign."""
    name, _, wanted = asked.partition(":")
    campaign = load_campaign(name)
    entries = [one.name for one in campaign.cases if isinstance(one, CommandEntry)]
    if not entries:
        raise AssayError(f"{name}: has no entry with a `command`; only those read outputs")
    if (wanted or len(entries) > 1) and wanted not in entries:
        hint = did_you_mean(wanted, entries)
        raise AssayError(f"{asked}: say which command{hint}: {name}:NAME with {listed(entries)}")
    line = brought_by(campaign.checks)[wanted or entries[0]]
    assert isinstance(line, CommandLine)
    return line


def _told(line: CommandLine, lines: Sequence[str]) -> Iterator[str]:
    """Lines on what each expression catches."""
    for caught in line.metrics:
        found = matches(caught.find, lines)
        metric = caught.metric
        stream = " of stderr" if caught.stream == "stderr" else ""
        yield f"{metric.name}, {metric.unit}, {metric.better} is better: {caught.find}{stream}"
        yield from _shown(found)
    for kind, expressions in (("must match", line.right), ("must not match", line.wrong)):
        for expression in expressions:
            yield f"{kind}: {expression}"
            yield from _shown(matches(expression, lines))


def _shown(found: Sequence[Match]) -> Iterator[str]:
    for one in found[:_SHOWN]:
        yield f"  line {one.number} caught {one.text!r}: {one.line.strip():.100}"
    if len(found) > _SHOWN:
        yield f"  … and {len(found) - _SHOWN} more"
    if not found:
        yield "  no line"
