# SPDX-License-Identifier: Apache-2.0
"""Tests of ReFrame suites in a campaign, made into cases of checks that it brings."""

from typing import Any

from assay.schema.model import Campaign, ReframeEntry
from assay.sites.site import Site
from records.errors import AssayError


def with_suites(campaign: Campaign, site: Site) -> Campaign:
    """The campaign with cases of checks in place of ReFrame tests, which are added to its `checks`;
    itself where it has none. What cannot run on the site is in its `left_out`. Raises AssayError
    for a test that is not there, and for a figure whose direction is not known."""
    if not any(isinstance(entry, ReframeEntry) for entry in campaign.cases):
        return campaign
    from plugins.reframe.suite_cases import SuiteTest  # slow: needed by suites only

    made, left_out, checks = list[Any](), list[str](), dict(campaign.checks)
    for index, entry in enumerate(campaign.cases):
        if not isinstance(entry, ReframeEntry):
            made.append(entry)
            continue
        try:
            test = SuiteTest(campaign, entry, site, checks)
            made += test.entries
        except AssayError as error:
            raise AssayError(f"{campaign.place(index)}.reframe: {error}", error.status) from error
        checks[entry.check] = test.check
        left_out += [f"cases[{index}] ({entry.check}): {one}" for one in test.left_out]
    found = campaign.model_copy(update={"cases": made})
    found._left_out, found._checks = left_out, checks
    return found
