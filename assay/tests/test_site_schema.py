# SPDX-License-Identifier: Apache-2.0
"""The table of keys in docs/sites.md: current and complete."""

import re

import pytest

from assay import ROOT
from assay.sites.description import site_schema
from assay.sites.site_file import read_site_file, site_names
from assay.tests.test_schema_json import keys_of
from records.forms import key_table


def test_the_page_is_up_to_date():
    page = (ROOT / "docs" / "sites.md").read_text()
    tables = re.search(r"^<!-- keys:.*?-->\n(.*)^<!-- end of keys -->", page, re.DOTALL | re.M)
    assert tables is not None
    assert tables[1] == key_table(site_schema()) + "\n", "run make schema"


def test_every_key_has_a_description_and_a_unit():
    named = list(keys_of(site_schema()))
    assert len(named) > 60
    assert [path for path, key in named if not {"description", "unit"} <= key.keys()] == []


@pytest.mark.parametrize("name", site_names())
def test_shipped_sites_are_right(name):
    assert read_site_file(name).name == name
