# SPDX-License-Identifier: Apache-2.0
"""Settings variants: an environment of a site with some of its settings changed by a campaign.

A site says which settings an environment has (`settings` in its site.yaml): their range, and how
the library is told. A campaign gives a variant a name and values (`variants`), and lists it among
its environments. No word of a campaign reaches a command line: only a number inside the range.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from assay.schema.model import Variant
from assay.schema.problems import did_you_mean, listed
from records.errors import AssayError

#: What stands for the value in the words and variables of a setting.
VALUE = "{value}"


class SettingDescription(BaseModel):
    """One setting of an environment: an integer from `least` to `greatest` in `unit`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    unit: str
    least: int
    greatest: int
    default: int | None = Field(None, description="the library's own value, if it is known")
    options: list[str] = Field([], description="words for the launcher; {value} is replaced")
    variables: dict[str, str] = Field({}, description="variables of its ranks; likewise")
    seen_as: str = Field("", description="variable in which ranks see the value that is in effect")


def told(setting: SettingDescription, value: int) -> tuple[list[str], dict[str, str]]:
    """The launcher's words and the variables that give `setting` its value."""
    words = [word.replace(VALUE, str(value)) for word in setting.options]
    variables = {k: v.replace(VALUE, str(value)) for k, v in setting.variables.items()}
    return words, variables


def refuse_wrong_variants(
    variants: Mapping[str, Variant],
    environments: Mapping[str, Mapping[str, SettingDescription]],
    site: str,
) -> None:
    """Raise AssayError for a variant that the site's `environments` (with settings) cannot give."""
    for name, variant in variants.items():
        place = f"variants.{name}"
        if name in environments:
            raise AssayError(
                f"{place}: site {site} has an environment of this name; choose another"
            )
        if variant.of not in environments:
            hint = did_you_mean(variant.of, environments)
            raise AssayError(
                f"{place}.of: site {site} has no environment {variant.of!r}{hint}; it has"
                f" {listed(sorted(environments))}"
            )
        for setting, value in variant.settings.items():
            _refuse_value(f"{place}.settings.{setting}", environments[variant.of], setting, value)


def _refuse_value(
    place: str, settings: Mapping[str, SettingDescription], setting: str, value: int
) -> None:
    if setting not in settings:
        known = listed(sorted(settings)) or "none"
        raise AssayError(f"{place}: no such setting of that environment; it has {known}")
    described = settings[setting]
    if not described.least <= value <= described.greatest:
        raise AssayError(
            f"{place}: found {value}; allowed is {described.least} to {described.greatest}"
            f" {described.unit}"
        )
