# SPDX-License-Identifier: Apache-2.0
"""The shipped JSON Schema: up to date, complete, and of the same mind as the validator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml

from assay.schema import campaign_names, campaign_schema, load_campaign
from assay.schema.loading import SCHEMA_FILE
from assay.tests.campaign_texts import GOOD, spoiled


@cache
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(campaign_schema())
    return jsonschema.Draft202012Validator(campaign_schema())


@pytest.mark.plugins("papers")
def test_the_shipped_file_is_up_to_date() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == campaign_schema(), "run make schema"


def keys_of(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, list):
        for item in node:
            yield from keys_of(item, path)
    if isinstance(node, dict):
        if isinstance(properties := node.get("properties"), dict) and "if" not in path:
            yield from ((f"{path}.{key}", value) for key, value in properties.items())
        for key, value in node.items():
            yield from keys_of(value, f"{path}.{key}")


def resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """A node with what its reference adds."""
    reference = node.get("$ref")
    if reference is None:
        return node
    target: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return {**resolved(target, schema), **node}


def test_every_key_has_a_description_and_a_unit() -> None:
    schema = campaign_schema()
    named = [
        (path, key) for path, key in keys_of(schema) if ".if." not in path and ".then" not in path
    ]
    assert len(named) > 300
    bare = [
        path for path, key in named if not {"description", "unit"} <= resolved(key, schema).keys()
    ]
    assert bare == []


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
