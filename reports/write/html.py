# SPDX-License-Identifier: Apache-2.0
"""The HTML page: one file, nothing loaded, complete without its one script; all text is escaped."""

from __future__ import annotations

import re
import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from itertools import count
from typing import Any

import jinja2
import matplotlib as mpl
from markupsafe import Markup

from records.flags import INVALID_ON_PURPOSE, OVERSUBSCRIBED, meaning
from records.provenance import Harness
from reports.analysis import Analysis
from reports.checks import plots
from reports.checks.sections import CheckSection, check_section
from reports.choice.compare import Comparisons
from reports.choice.pictures import forest, score_picture
from reports.choice.tables import choice_tables, comparison_tables
from reports.notation.palette import Look
from reports.notation.units import count_text
from reports.show import listings, tables
from reports.show.canvas import ID_MARK, STYLE, Panel, legend_sign
from reports.show.size_tables import invalid_table
from reports.write.summary import summary_sentences

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def without_control_characters(text: str) -> str:
    """`text` without the characters that XML 1.0 forbids, and without C1 controls."""
    if text.isprintable():
        return text
    return _FORBIDDEN.sub("", text)


def render_html(analysis: Analysis, root: str) -> str:
    """The page; `root` is the relative way from the report to the run directory."""
    return render_page("report.html.j2", analysis.looks, _context(analysis, root))


def render_page(template: str, looks: Mapping[str, Look], context: Mapping[str, Any]) -> str:
    """A template of this package as a page of one file; `looks` give the environments' signs."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reports.write"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    signs = {name: Markup(legend_sign(look)) for name, look in looks.items()}  # noqa: S704
    script = _script()
    digest = b64encode(sha256(script.encode()).digest()).decode()
    environment.globals.update(
        sign=lambda name: signs.get(name, ""),
        svg=_numbered(),
        badge_kind=badge_kind,
        meaning=meaning,
        count_text=count_text,
        script=Markup(script),  # noqa: S704 (our own file)
        script_hash=digest,
    )
    return without_control_characters(environment.get_template(template).render(context))


def _numbered() -> Callable[[Panel], Markup]:
    """Gives out our own drawings (matplotlib escapes the text in them), ids unique in the page."""
    numbers = count(1)

    def svg(panel: Panel) -> Markup:
        return Markup(panel.svg.replace(ID_MARK, f"p{next(numbers)}-"))  # noqa: S704

    return svg


def badge_kind(text: str) -> str:
    """Which colour a flag gets; the word itself always says what it is."""
    if text.startswith((OVERSUBSCRIBED, "n =")):
        return "warn"
    return "bad" if text.startswith(INVALID_ON_PURPOSE) else ""


def _context(analysis: Analysis, root: str) -> Mapping[str, Any]:
    run, comparisons = analysis.run, analysis.comparisons
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        checks = [check_section(analysis, check) for check in analysis.checks]
        effects = forest(analysis)
        score_panel = score_picture(analysis)
        invalid_picture = plots.invalid_bandwidth(analysis)
    shown_evidence = listings.evidence(analysis, root)
    invalid = invalid_table(analysis)
    choice = choice_tables(analysis)
    return {
        "analysis": analysis,
        "run": run,
        "started": (run.provenance.started_at or "not recorded")[:19].replace("T", " "),
        "sentences": summary_sentences(analysis),
        "sections": _contents(checks, bool(choice), invalid is not None),
        "choice": choice,
        "score_panel": score_panel,
        "comparisons": comparison_tables(analysis),
        "status": listings.status_table(analysis),
        "bad": listings.bad_launches_table(analysis, root),
        "on_purpose": listings.bad_launches_table(analysis, root, on_purpose=True),
        "holes": listings.holes_table(analysis),
        "checks": checks,
        "effects": [effects] if effects else [],
        "invalid": invalid,
        "invalid_pictures": [invalid_picture] if invalid_picture else [],
        "power_note": power_note(comparisons),
        "run_unusable": comparisons.unusable,
        "scopes": list(dict.fromkeys(tables.slug(cell.scope) for cell in comparisons.overall)),
        "provenance": listings.provenance_rows(run.provenance),
        "evidence": shown_evidence,
        "evidence_omitted": len(run.plan.cases) - len(shown_evidence),
        "version": _version(run.provenance.harness),
    }


def _script() -> str:
    """Our script without its comment lines; the page's policy allows this text and no other."""
    text = files("reports.write").joinpath("templates/report.js").read_text(encoding="utf-8")
    return "\n" + "".join(line for line in text.splitlines(True) if not line.startswith("//"))


def power_note(comparisons: Comparisons) -> str:
    """What the exact test can reach at the n at hand."""
    judged = [cell for cell in comparisons.overall if cell.effect]
    if not judged:
        return ""
    cell = min(judged, key=lambda item: item.n)
    assert cell.effect is not None
    if cell.needed_n <= cell.n:
        return ""
    interval = cell.effect.interval
    return (
        f"With n = {cell.n} the least p possible is {cell.effect.least_p:.4g} and the widest"
        f" interval has {100 * interval.level:.4g} %: over {count_text(cell.family, 'cell')}"
        f" nothing can be resolved before n = {cell.needed_n}, however large the difference;"
        " estimates and intervals still show direction and size."
    )


def _contents(checks: list[CheckSection], choice: bool, invalid: bool) -> list[tuple[str, str]]:
    middle = [(f"check-{item.anchor}", item.title) for item in checks]
    end = [("comparison", "Comparison")]
    end += [("invalid", "Invalid on purpose")] if invalid else []
    end += [("provenance", "Provenance"), ("evidence", "Evidence"), ("method", "Method")]
    start = [("choice", "Choice")] if choice else []
    return [*start, ("launches", "Launches"), *middle, *end]


def _version(harness: Harness) -> str:
    commit = (harness.git_commit or "")[:12]
    version = harness.version or ""
    return f"{version} ({commit})" if commit else version
