# SPDX-License-Identifier: Apache-2.0
"""Laws as the paper prints them: "55 log₂p + 30", in µs, "(0.014 log₂p + 0.053) m", in µs."""

from __future__ import annotations

from collections.abc import Iterator

from reports.models.collectives import CollectiveModel, Form, Law

_NAMES: dict[Form, str] = {
    "log2_p": " log₂p",
    "ceil_log2_p": " ⌈log₂p⌉",
    "p": " p",
    "(p-1)/p": " (p−1)/p",
    "constant": "",
    "sqrt_p": " √p",
    "p_log2_p": " p log₂p",
    "p_squared": " p²",
}


def startup_text(law: Law) -> str:
    """T0(p) in µs."""
    offset = _number(abs(law.offset) * 1e6)
    if law.form == "constant":
        return offset if law.offset >= 0 else f"−{offset}"
    sign, minus = "+" if law.offset >= 0 else "−", "" if law.slope >= 0 else "−"
    return f"{minus}{_number(abs(law.slope) * 1e6)}{_NAMES[law.form]} {sign} {offset}"


def delay_text(law: Law) -> str:
    """D(m, p) in µs for m bytes."""
    text = startup_text(law)
    return f"{text} m" if law.form == "constant" else f"({text}) m"


def expression_text(startup: Law, delay: Law | None) -> str:
    """T(m, p) in µs for m bytes on p processes."""
    return startup_text(startup) + (f" + {delay_text(delay)}" if delay else "")


def alternatives(model: CollectiveModel) -> Iterator[str]:
    """The laws that the model's are not told apart from: "T0 or 55 log₂p + 30 or 9 p + 70"."""
    for part, choice, text in (
        ("T0", model.startup, startup_text),
        ("D", model.delay, delay_text),
    ):
        if choice and not choice.determined:
            yield " or ".join([part, *map(text, choice.alike)])


def _number(value: float) -> str:
    """Two significant digits, three from 100 on, as in the paper; no powers of ten."""
    if value >= 1000:
        return f"{value:.0f}"
    text = f"{value:.3g}" if value >= 100 else f"{value:.2g}"
    return f"{float(text):.10f}".rstrip("0").rstrip(".") if "e" in text else text
