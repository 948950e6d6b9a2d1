# SPDX-License-Identifier: Apache-2.0
"""The recipes and environments as files: what they must state, without Spack."""

import ast
import json
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).resolve().parent.parent
RECIPES = sorted(HERE.glob("spack_repo/*/packages/*/package.py"))
ENVIRONMENTS = sorted(HERE.glob("environments/*/spack.yaml"))


def calls(path: Path, name: str) -> list[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == name]


def identity(path: Path) -> str:
    return f"{path.parents[2].name}.{path.parent.name}"


@pytest.mark.parametrize("path", RECIPES, ids=identity)
def test_versions_have_their_checksum_variants_a_description_and_the_class_its_name(path):
    versions = calls(path, "version")
    assert versions
    bare = any(word in path.read_text() for word in ("has_code = False", "BundlePackage"))
    for version in versions:
        sums = [k.value.value for k in version.keywords if k.arg == "sha256"]
        assert bare or [len(digits) for digits in sums] == [64]
    for variant in calls(path, "variant"):
        assert [k for k in variant.keywords if k.arg == "description"]
    classes = [n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef)]
    assert "".join(word.capitalize() for word in path.parent.name.split("_")) in classes


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.parent.name)
def test_every_view_has_a_library_among_the_specs(path):
    text = path.read_text()
    environment = yaml.safe_load(text)["spack"]
    for name, view in environment["view"].items():
        assert view["select"] == [view["select"][0], f"^{view['select'][0]}"], name
        assert view["select"][0].split("@")[0].split()[0] in text


@pytest.mark.parametrize("path", sorted(HERE.glob("platforms/*/sources.yaml")), ids=str)
def test_the_mirror_takes_what_the_recipes_state(path):
    versions = [version for recipe in RECIPES for version in calls(recipe, "version")]
    stated = {k.value.value for one in versions for k in one.keywords if k.arg == "sha256"}
    assert {entry["sha256"] for entry in yaml.safe_load(path.read_text())} <= stated


@pytest.mark.parametrize("path", sorted(HERE.glob("environments/*/*.lock")), ids=str)
def test_a_lock_belongs_to_its_environment_and_names_no_place_of_its_maker(path):
    lock = json.loads(path.read_bytes())
    views = yaml.safe_load((path.parent / "spack.yaml").read_text())["spack"]["view"]
    assert len(lock["roots"]) >= len(views)
    places = {s["external"]["path"] for s in lock["concrete_specs"].values() if "external" in s}
    assert all(place.startswith("/usr") for place in places)
