# SPDX-License-Identifier: Apache-2.0
"""The night on one screen, as a terminal and a mail show it."""

from __future__ import annotations

from reports.nightly.answer import answer_of_night
from reports.nightly.check import Checked
from reports.nightly.wording import HEADLINES, case_names, group_line
from reports.notation.units import count_text, fixed, level_text

_MOST_LINES = 8


def short_text(checked: Checked, details: str = "") -> str:
    """The night on one screen: verdict, findings by case, what changed, what was not judged."""
    night, names = checked.night, case_names(checked.history)
    answer = answer_of_night(checked)
    lines = [f"{answer.state.word}: {answer.sentence}"]
    lines += [f"Not known: {answer.unknown}."] if answer.unknown else []
    lines += [f"Next: {answer.command}"] if answer.command else []
    lines.append(f"{night.campaign} on {night.site}, night of {night.date} (run {night.run_id})")
    for verdict, title in HEADLINES.items():
        groups = list(checked.groups(verdict))
        lines += [f"{title}:"] if groups else []
        lines += [
            f"  {group_line(checked.history, names, found)}" for _, found in groups[:_MOST_LINES]
        ]
        if len(groups) > _MOST_LINES:
            lines.append(f"  and {count_text(len(groups) - _MOST_LINES, 'further case')}")
    if checked.context:
        lines.append("Changed since the night before:")
        lines += [f"  {item.text}" for item in checked.context]
    if checked.bad_launches:
        lines.append("Launches without a result:")
        lines += [f"  {text}" for text in night.failures[:_MOST_LINES]]
    if checked.judgement.unjudged:
        lines.append("Not judged:")
        counts = checked.judgement.unjudged.most_common()
        lines += [f"  {fixed(n, 0)} series: {reason}" for reason, n in counts]
    if checked.judgement.wide:
        lines.append(f"Limit wider than {level_text(checked.rules.finds)}:")
        wide = checked.judgement.wide.most_common()
        lines += [f"  {fixed(n, 0)} series: {reason}" for reason, n in wide]
    lines += [f"Warning: {text}" for text in night.warnings]
    return "\n".join([*lines, details] if details else lines)
