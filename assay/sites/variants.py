# SPDX-License-Identifier: Apache-2.0
"""Variants: environments of a site with some of their settings changed by a campaign.

The site states which settings an environment has, their range, and how the library is told. A
campaign gives a variant a name and values. No word of a campaign reaches a command line, only a
number inside the range.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.schema.model import Variant
from assay.schema.problems import did_you_mean, listed
from assay.sites.description import VALUE, EnvironmentDescription
from records.errors import AssayError


def varied(
    name: str, variant: Variant, environments: Mapping[str, EnvironmentDescription], site: str
) -> EnvironmentDescription:
    """The variant called `name` of one of the environments of `site`.

    Raises AssayError for a variant that the site cannot give.
    """
    place = f"variants.{name}"
    if variant.of not in environments:
        raise AssayError(
            f"{place}.of: site {site} has no environment {variant.of!r}"
            f"{did_you_mean(variant.of, environments)}; it has {listed(sorted(environments))}"
        )
    environment = environments[variant.of]
    words: list[str] = []
    variables = dict(environment.variables)
    for setting, value in variant.settings.items():
        described = environment.settings.get(setting)
        if described is None:
            known = listed(sorted(environment.settings)) or "none"
            raise AssayError(
                f"{place}.settings.{setting}: no such setting of that environment; it has {known}"
            )
        if not described.least <= value <= described.greatest:
            raise AssayError(
                f"{place}.settings.{setting}: found {value}; allowed is {described.least} to"
                f" {described.greatest} {described.unit}"
            )
        words += [word.replace(VALUE, str(value)) for word in described.options]
        variables |= {k: v.replace(VALUE, str(value)) for k, v in described.variables.items()}
    changed = ", ".join(f"{setting} = {value}" for setting, value in variant.settings.items())
    return environment.model_copy(
        update={
            "description": f"{environment.description}; {changed}",
            "launcher_options": [*words, *environment.launcher_options],
            "variables": variables,
            "variant_of": variant.of,
            "chosen": dict(variant.settings),
        }
    )
