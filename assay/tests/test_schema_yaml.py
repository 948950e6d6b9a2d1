# SPDX-License-Identifier: Apache-2.0
"""What of YAML is read, and the one message for what is not."""

from __future__ import annotations

import pytest

from assay.schema import campaign_from_text
from assay.schema.document import Document, parse
from records.errors import AssayError, ExitStatus


def refusal(text: str) -> str:
    with pytest.raises(AssayError) as caught:
        campaign_from_text("c.yaml", text)
    assert caught.value.status == ExitStatus.BAD_INPUT
    return str(caught.value)


def test_plain_values_follow_yaml_1_2() -> None:
    text = 'a: [1, -2, +3, 0.5, 1e9, true, null, word, "5", 2003-01-01]\n'
    expected = {"a": [1, -2, 3, 0.5, 1e9, True, None, "word", "5", "2003-01-01"]}
    assert parse("c.yaml", text, "") == expected


def test_every_place_knows_its_line() -> None:
    value = parse("c.yaml", "a:\n  b: 1\n  c:\n  - x\n  - y\n", "")
    assert isinstance(value, Document)
    for place, line in ((("a", "b"), 2), (("a", "c", 1), 5), (("a", "no such key"), 1)):
        assert value.line_of(place) == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system [x]", "the tag !!python/object/apply:os.system"),
        ("!!python/name:os.system\n", "the tag !!python/name:os.system is not allowed"),
        ("a: !mine 5", "the tag !mine is not allowed"),
        ("a: &x [5]\nb: *x", "an alias (*NAME) is not allowed; write it out"),
        ("a: *x", "is not valid YAML: found undefined alias"),
        ("a: [1, 2", "is not valid YAML: "),
        ("a: b: c", "is not valid YAML: mapping values are not allowed here"),
        ("\ta: 1", "is not valid YAML: found character '\\t'"),
        ("a: 1\n--- \nb: 2\n", "holds more than one document"),
        ('a: "\\U00110000"', "c.yaml:1: holds an escape"),
        ('a: 1\nb: "\\UFFFFFFFF"', "c.yaml:2: holds an escape"),
        (f"%YAML {'1' * 5000}.2\n--- 1", "holds an escape or a number"),
        ("a: \x07", "the character U+0007 is not allowed in YAML"),
    ],
)
def test_yaml_that_is_not_read_is_refused_in_one_line(text: str, message: str) -> None:
    said = refusal(text)
    assert said.startswith("c.yaml:")
    assert message in said
    assert "\n" not in said


def test_deep_nesting_is_refused_before_it_is_built() -> None:
    assert "nested more than 20 deep" in refusal("[" * 500_000)
    assert "nested more than 20 deep" in refusal("a: " + "{b: " * 30 + "1" + "}" * 30)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n"])
def test_an_empty_file_says_what_a_campaign_needs(text: str) -> None:
    said = refusal(text)
    assert "is empty" in said or "found nothing" in said
    assert "environments" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "c.yaml:1: found a list of 1 values"),
        ("word", 'c.yaml:1: found "word"'),
        ("name: a\nseed: 1\nname: b\n", "c.yaml:3: name: the key name is already given in line 1"),
        ("<<: {a: 1}\n", "the merge key << is not allowed"),
        ("? [a, b]\n: 1\n", "a key is a mapping or a list; allowed are words"),
        ("5: 1\n", "the key 5 is not a word; put it in quotes"),
        *(
            (f'question: "a{hidden}b"\n', "holds the hidden character U+")
            for hidden in ("\\e[31m", "\\0", "\\u0085", "\u202e", "\u200b")
        ),
    ],
)
def test_a_campaign_is_a_mapping_of_distinct_words_to_visible_text(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize("word", ["no", "No", "NO", "off", "yes", "On", "0x10", "012", "1_000"])
def test_words_that_yaml_1_1_takes_for_switches_or_numbers_are_text(word: str) -> None:
    assert parse("c.yaml", f"{word}: {word}\n", "") == {word: word}


@pytest.mark.parametrize(
    "number", [".nan", ".inf", "-.inf", "0x10", "0o17", "012", "1_000", "1:30", "1e999", "9" * 5000]
)
def test_numbers_are_finite_and_decimal(number: str) -> None:
    said = refusal(f"seed: {number}\n")
    assert "c.yaml:1: seed: found " in said
    assert len(said.splitlines()[0]) < 300
