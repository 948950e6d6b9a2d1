# SPDX-License-Identifier: Apache-2.0
"""The HTML page: one file, nothing loaded, complete without its one script; all text is escaped."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from records.flags import BEYOND_LIMIT, INVALID_ON_PURPOSE, OVERSUBSCRIBED, meaning
from reports.choice.compare import Comparisons
from reports.notation.palette import Look
from reports.notation.units import count_text, level_text
from reports.show import listings
from reports.show.canvas import legend_sign, styled
from reports.show.choice.pictures import factors_picture, forest, score_picture
from reports.show.choice.tables import choice_tables, comparison_tables
from reports.show.invalid import invalid_picture, invalid_table
from reports.show.tables import slug
from reports.write.content import Content
from reports.write.page import fill_in
from reports.write.summary import summary_sentences


def render_html(content: Content) -> str:
    """The page of a run."""
    analysis, root = content.analysis, content.root
    run, comparisons = analysis.run, analysis.comparisons
    with styled():
        effects = [picture for make in (factors_picture, forest) if (picture := make(analysis))]
        score_panel = score_picture(analysis)
        picture_of_invalid = invalid_picture(analysis)
    harness = run.provenance.harness
    commit = (harness.git_commit or "")[:12]
    shown_evidence = listings.evidence(analysis, root)
    invalid = invalid_table(analysis)
    choice = choice_tables(analysis)
    contents = [
        *([("choice", "Choice")] if choice else []),
        *([("study", "The study")] if content.study else []),
        ("launches", "Launches"),
        *((f"check-{part.anchor}", part.title) for part in content.parts),
        ("comparison", "Comparison"),
        *([("invalid", "Invalid on purpose")] if invalid else []),
        ("provenance", "Provenance"),
        ("evidence", "Evidence"),
        ("method", "Method"),
    ]
    return render_page(
        "report.html.j2",
        analysis.looks,
        {
            "analysis": analysis,
            "run": run,
            "warnings": content.warnings,
            "started": (run.provenance.started_at or "not recorded")[:19].replace("T", " "),
            "sentences": summary_sentences(analysis),
            "sections": contents,
            "choice": choice,
            "study": content.study,
            "root": root,
            "score_panel": score_panel,
            "comparisons": comparison_tables(analysis),
            "status": listings.status_table(analysis),
            "bad": listings.bad_launches_table(analysis, root),
            "on_purpose": listings.bad_launches_table(analysis, root, on_purpose=True),
            "holes": listings.holes_table(analysis),
            "checks": content.parts,
            "effects": effects,
            "invalid": invalid,
            "invalid_pictures": [picture_of_invalid] if picture_of_invalid else [],
            "power_note": power_note(comparisons),
            "run_unusable": comparisons.unusable,
            "scopes": list(dict.fromkeys(slug(cell.scope) for cell in comparisons.overall)),
            "provenance": listings.provenance_rows(run.provenance),
            "evidence": shown_evidence,
            "evidence_omitted": len(run.plan.cases) - len(shown_evidence),
            "version": f"{harness.version or ''}{f' ({commit})' if commit else ''}",
        },
    )


def render_page(template: str, looks: Mapping[str, Look], content: Mapping[str, Any]) -> str:
    """A page in the report's look; `looks` give the environments' signs."""
    signs = {name: Markup(legend_sign(look)) for name, look in looks.items()}  # noqa: S704
    # The page's policy allows this text, without its comment lines, and no other script.
    lines = files("reports.write").joinpath("templates/report.js").read_text(encoding="utf-8")
    script = "\n" + "".join(x for x in lines.splitlines(True) if not x.startswith("//"))
    common = {
        "sign": lambda name: signs.get(name, ""),
        "badge_kind": badge_kind,
        "meaning": meaning,
        "count_text": count_text,
        "script": Markup(script),  # noqa: S704 (our own file)
        "script_hash": b64encode(sha256(script.encode()).digest()).decode(),
    }
    return fill_in(template, {**common, **content})


def badge_kind(text: str) -> str:
    """Which colour a flag gets; the word itself always says what it is."""
    if text.startswith((BEYOND_LIMIT, OVERSUBSCRIBED, "n =")):
        return "warn"
    return "bad" if text.startswith(INVALID_ON_PURPOSE) else ""


def power_note(comparisons: Comparisons) -> str:
    """What the exact test can reach at the n at hand."""
    judged = [cell for cell in comparisons.overall if cell.effect]
    if not judged:
        return ""
    cell = max(judged, key=lambda item: item.n)
    assert cell.effect is not None
    if cell.needed_n <= cell.n:
        return ""
    interval = cell.effect.interval
    return (
        f"With n = {cell.n} the least p possible is {cell.effect.least_p:.4g} and the widest"
        f" interval has {level_text(interval.level)}: over {count_text(cell.family, 'cell')}"
        f" nothing can be resolved before n = {cell.needed_n}, however large the difference;"
        " estimates and intervals still show direction and size."
    )
