# SPDX-License-Identifier: Apache-2.0
"""The shipped JSON Schema of site.yaml and the tables of docs/sites.md: current and complete."""

import json
import re

import jsonschema
import pytest

from assay import ROOT
from assay.schema.document import parse
from assay.sites.json_schema import SCHEMA_FILE, key_tables, site_schema
from assay.sites.site_file import site_file, site_names
from assay.tests.test_schema_json import keys_of
from assay.tests.test_site_file import GOOD, TWO


def valid(text):
    jsonschema.Draft202012Validator.check_schema(site_schema())
    return jsonschema.Draft202012Validator(site_schema()).is_valid(parse("", text, ""))


def test_the_shipped_files_are_up_to_date():
    assert json.loads(SCHEMA_FILE.read_text()) == site_schema(), "run make schema"
    page = (ROOT / "docs" / "sites.md").read_text()
    tables = re.search(
        r"^<!-- keys:.*?-->\n(.*)^<!-- end of keys -->", page, re.DOTALL | re.MULTILINE
    )
    assert tables is not None
    assert tables[1] == key_tables() + "\n", "run make schema"


def test_every_key_has_a_description_and_a_unit():
    named = list(keys_of(site_schema()))
    assert len(named) > 60
    assert [path for path, key in named if not {"description", "unit"} <= key.keys()] == []


@pytest.mark.parametrize("name", site_names())
def test_shipped_sites_satisfy_it(name):
    text = site_file(name).read_text()
    assert valid(text)
    assert "# yaml-language-server: $schema=../site.schema.json" in text


def test_right_sites_satisfy_it():
    assert valid(GOOD)
    assert valid(TWO)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nodes: 16", "nodes: -1"),
        ("nodes: 16", "node: 16"),
        ("assay-srun", "srun"),
        ("modules_system: lmod", "modules_system: lmood"),
        ("compiler: mpicc", "compiler: [mpicc]"),
        ("    library: MPICH\n", ""),
        ("like: mpich", "as: mpich"),
        ("partitions:", "partition:"),
    ],
)
def test_bad_sites_do_not(old, new):
    assert TWO.count(old) == 1
    assert not valid(TWO.replace(old, new))
