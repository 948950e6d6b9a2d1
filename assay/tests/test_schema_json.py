# SPDX-License-Identifier: Apache-2.0
"""The shipped JSON Schema: up to date, complete, and of the same mind as the validator."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml

from assay.schema import campaign_names, campaign_schema, load_campaign
from assay.schema.criteria import criteria_schema
from assay.schema.loading import SCHEMA_FILE
from assay.tests.campaign_texts import GOOD, spoiled


@cache
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(campaign_schema())
    return jsonschema.Draft202012Validator(campaign_schema())


@pytest.mark.plugins("papers")
def test_the_shipped_file_is_up_to_date() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == campaign_schema(), "run make schema"


@pytest.mark.parametrize("schema_of", [campaign_schema, criteria_schema])
def test_every_key_has_a_description_and_a_unit(schema_of: Callable[[], dict[str, Any]]) -> None:
    schema = schema_of()
    parts = [schema, *schema["$defs"].values()]
    keys = [key for part in parts for key in part.get("properties", {}).items()]
    assert len(keys) > 40
    told = {"description", "unit"}
    assert [name for name, key in keys if "$ref" not in key and not told <= key.keys()] == []


@pytest.mark.parametrize("name", campaign_names())
def test_shipped_and_right_campaigns_satisfy_it(name: str) -> None:
    origin = load_campaign(name).origin
    assert origin is not None
    assert "campaign.schema.json\n" in origin.text
    for text in (origin.text, GOOD, spoiled("blocks: 3", "blocks: {greatest: 9}")):
        validator().validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("blocks: 3", "block: 3"),
        ("blocks: 3", "blocks: 0"),
        ("blocks: 3", "blocks: {greatest: 5}"),
        ("blocks: 3", "blocks: {least: 6}"),
        ("small", "../x"),
        ("- check: hpl", "- check: hlp"),
        ("{nb: 64}", "{nbb: 64}"),
        ("{nb: 64}", "{pfact: rigth}"),
        ("{nb: 64}", "{threshold: -1}"),
        ("[300, 600]", "[{from: 3}]"),
        ("pt2pt: 0.5", "SU3: 0.5"),
        ("node_hours: 5", "node_hours: 0"),
    ],
)
def test_bad_campaigns_do_not(old: str, new: str) -> None:
    assert not validator().is_valid(yaml.safe_load(spoiled(old, new)))
