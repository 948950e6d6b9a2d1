# SPDX-License-Identifier: Apache-2.0
"""A campaign file is taken whole or refused with file, line and key of every fault."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from assay.schema.document import Document, parse
from assay.schema.loading import campaign_from_text, load_campaign
from assay.tests.campaign_texts import GOOD, refusal, spoiled
from records.errors import AssayError

HALF = "{memory_share: 0.5}"
NEEDS = "a campaign is a mapping with at least the keys schema, name, question, environments"
NO_NAME = r"^no campaign .* \(.*quick, .*nor a file$"
SIZED = GOOD.replace("grid: [{p: 1, q: 1}, {p: 1, q: 2}]\n    n: [1000, 2000]", "{matrix}").replace(
    "fixed: {nb: 64}", "fixed: {fixed}"
)


@pytest.mark.parametrize(
    ("matrix", "fixed", "said"),
    [
        ("nodes: [0]", HALF, "nodes[0]: found 0 (an integer); allowed is an integer from 1"),
        ("nodes: [1, al]", HALF, 'c.yaml:10: cases[0].matrix.nodes[1]: found "al"'),
        ("nodes: [all]", "{memory_share: 2}", "c.yaml:11: cases[0].fixed.memory_share: found 2"),
        ("nodes: [all]", "{memory_share: 0.5, n: 5}", "memory_share sets n, which is given too"),
        ("nodes: [all]", "{}", "the parameter n is missing"),
        ("n: [5]", HALF, "the parameter p is missing"),
        ("nodes: [{from: 1, to: all}]", "{n: 5}", "exactly one of step and per_octave"),
        ("nodes: [1]", "{n: 5, ranks_per_node: {most: 0}}", "fixed.ranks_per_node.most: found 0"),
    ],
)
def test_faults_of_sizes_that_follow_the_site_are_told(matrix, fixed, said) -> None:
    assert said in refusal(SIZED.replace("{matrix}", matrix).replace("{fixed}", fixed))


def test_a_right_campaign_is_read_whole() -> None:
    campaign = campaign_from_text("c.yaml", GOOD)
    assert (campaign.name, campaign.blocks, campaign.seed) == ("small", 3, 7)
    assert campaign.cases[0].matrix["n"] == [1000, 2000]
    assert campaign.limits.retries == 0
    assert campaign.weights == {"hpl": 2.0, "pt2pt": 0.5}
    assert campaign.origin is not None
    assert (campaign.origin.text, campaign.origin.case_lines) == (GOOD, (8, 13))
    assert campaign.environments_of(campaign.cases[1]) == ["lam"]


FAULTS = {
    "schema of the future": ("schema: 1", "schema: 2", "c.yaml:1: schema: found 2 (an integer)"),
    "no name": ("name: small\n", "", "c.yaml:1: name: is missing"),
    "name of a path": ("small", "../../etc", 'c.yaml:2: name: found "../../etc" (text); allowed'),
    "number for text": ("Which is faster?", "5", "of 1 to 2000 characters; put it in quotes"),
    "unknown key": ("blocks: 3", "block: 3", "c.yaml:5: block: unknown key (did you mean blocks?)"),
    "no environments": ("[mpich, lam]", "[]", "c.yaml:4: environments: found a list of 0 values"),
    "environment twice": ("[mpich, lam]", "[lam, mpich, lam]", "c.yaml:4: environments[2]"),
    "one environment as text": ("[mpich, lam]", "lam", "allowed is a list of at least 1 value"),
    "no blocks": ("blocks: 3", "blocks: 0", "c.yaml:5: blocks: found 0 (an integer); allowed is"),
    "least alone": ("3\nseed", "{least: 6}\nseed", "c.yaml:5: blocks.greatest: is missing;"),
    "odd order": ("3\nseed", "{least: 8, greatest: 7}\nseed", "is 7, which is less than least (8)"),
    "key of blocks": ("3\nseed", "{leest: 6, greatest: 9}\nseed", "are least, greatest, until"),
    "odd question": ("3\nseed", "{greatest: 9, until: [point]}\nseed", "did you mean points?)"),
    "blocks left empty": ("blocks: 3", "blocks:", "blocks: found nothing; allowed is an integer"),
    "unknown check": ("- check: hpl", "- check: hlp", 'found "hlp" (text) (did you mean hpl?)'),
    "unknown parameter": ("{nb: 64}", "{nbb: 64}", "c.yaml:12: cases[0].fixed.nbb: unknown key"),
    "unknown axis": ("    n: [", "    nn: [", "c.yaml:11: cases[0].matrix.nn: unknown key (did"),
    "value out of range": ("[1000, 2000]", "[1000, 2000001]", "c.yaml:11: cases[0].matrix.n[1]: "),
    "value in a mapping": ("{p: 1, q: 2}", "{p: 0, q: 2}", "c.yaml:10: cases[0].matrix.grid[1].p"),
    "axis of one number": ("[1000, 2000]", "1000", "cases[0].matrix.n: found 1000 (an integer)"),
    "value twice in an axis": ("[1000, 2000]", "[1000, 1000]", "1000 (an integer) is listed twice"),
    "parameter set twice": ("{nb: 64}", "{nb: 64, q: 1}", "sets q, which fixed sets too"),
    "no parameter q": (", q: 1}, {p: 1, q: 2}", "}", "c.yaml:8: cases[0]: the parameter q is"),
    "negative threshold": ("{nb: 64}", "{threshold: -1}", "allowed is a number above 0 and"),
    "word for a word": ("{nb: 64}", "{pfact: rigth}", "(did you mean right?); allowed is left,"),
    "range half given": ("[300, 600]", "[{from: 3, step: 1}]", "sizes[0].to: is missing"),
    "range without step": ("[300, 600]", "[{from: 3, to: 5}]", "one of step and per_octave"),
    "range backwards": ("[300, 600]", "[{from: 5, to: 3, step: 1}]", "from = 5 is greater than"),
    "range too long": ("[300, 600]", "[{from: 1, to: 20000, step: 1}]", "are at most 10000"),
    "too many samples": ("600]}", "600], iterations: 1000000}", "iterations = 16000000 samples"),
    "foreign environment": ("[lam]\nlimits", "[lamm]\nlimits", "mean lam?); allowed is lam"),
    "negative limit": ("node_hours: 5", "node_hours: -5", "allowed is a number above 0"),
    "criteria of its own": (
        "seed: 7",
        "criteria: [{metric: x}]",
        "c.yaml:6: criteria: a campaign holds",
    ),
    "criteria to be told where": ("seed: 7", "criteria: 5", "assay accept RUN --criteria FILE"),
    "unknown criteria": ("seed: 7", "judged_by: {real: standards}", "mean standard?); allowed is"),
    "criteria of no cluster": ("seed: 7", "judged_by: {a: 1}", "c.yaml:6: judged_by.a"),
    "weight of no check": ("pt2pt: 0.5", "startup: 1", 'weights.startup: found "startup"'),
}
#: Faults from which others follow; each other one gives one line.
FOLLOWED = {"unknown check", "foreign environment", "axis of one number", "unknown axis"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_place_and_what_is_allowed(fault: str) -> None:
    old, new, message = FAULTS[fault]
    said = refusal(spoiled(old, new))
    assert message in said
    assert all(line.startswith("c.yaml:") for line in said.splitlines())
    assert fault in FOLLOWED or "\n" not in said


def test_several_faults_are_shown_together_in_the_order_of_the_file() -> None:
    text = GOOD.replace("blocks: 3", "blocks: 0").replace("seed: 7", "sead: 7")
    assert [line.split(":")[1] for line in refusal(text).splitlines()] == ["5", "6"]
    text = GOOD.replace("{nb: 64}", "{nb: none}").replace("[300, 600]", "[0]")
    assert [line.split(":")[1] for line in refusal(text).splitlines()] == ["12", "14"]


def test_at_most_twenty_faults_are_shown() -> None:
    lines = refusal(spoiled("[1000, 2000]", str([-n for n in range(1, 500)]))).splitlines()
    assert len(lines) == 21
    assert "more, not shown" in lines[-1]


def test_too_many_cases_are_refused_by_arithmetic_alone() -> None:
    values = list(range(1, 1001))
    axes = f"    n: {values}\n    nb: {values}\n    nbmin: {values}\n"
    assert refusal(spoiled("    n: [1000, 2000]\n  fixed: {nb: 64}\n", axes)) == (
        "c.yaml:8: cases[0]: its axes and environments make 4000000000 cases, 4000000001 in the"
        " whole campaign; allowed are at most 1000000; shorten the axes or split the campaign"
    )


def test_a_campaign_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load_campaign(str(path)).name == "small"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, NO_NAME) for name in ("../quick", "a\0b", "x" * 5000, "", "no/such.yaml")),
        ("quikc", r"^no campaign .* \(did you mean quick\?\)"),
        (".", "is a directory"),
        ("/dev/zero", "is not a regular file"),
        ("binary.yaml", "binary.yaml:2: is not UTF-8 text"),
        ("big.yaml", "is larger than 1048576 bytes"),
        ("denied.yaml", r"cannot be read \(Permission denied\)"),
    ],
)
def test_what_is_no_campaign_file_is_named(folder, monkeypatch, name: str, message: str) -> None:
    Path("binary.yaml").write_bytes(b"name: x\n\xff\xfe\x00")
    Path("big.yaml").write_bytes(b"#" * (2**20 + 1))
    Path("denied.yaml").touch()
    if name == "denied.yaml":
        denied = Mock(side_effect=PermissionError(13, "Permission denied"))
        monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(AssayError, match=message) as caught:
        load_campaign(name)
    assert "\0" not in str(caught.value)
    assert len(str(caught.value)) < 500


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
        ("a: !mine 5", "the tag !mine is not allowed"),
        ("a: &x [5]\nb: *x", "an alias (*NAME) is not allowed; write it out"),
        ("a: *x", "is not valid YAML: found undefined alias"),
        ("a: [1, 2", "is not valid YAML: "),
        ("a: 1\n--- \nb: 2\n", "holds more than one document"),
        ('a: 1\nb: "\\UFFFFFFFF"', "c.yaml:2: holds an escape"),
        (f"%YAML {'1' * 5000}.2\n--- 1", "holds an escape or a number"),
        ("a: \x07", "the character U+0007 is not allowed in YAML"),
        *((text, f"is empty; {NEEDS}") for text in ("", "\n\n", "# only a comment\n")),
        ("---\n", f"found nothing; {NEEDS}"),
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
def test_yaml_that_is_not_read_is_refused_in_one_line(text: str, message: str) -> None:
    said = refusal(text)
    assert said.startswith("c.yaml:")
    assert message in said
    assert "\n" not in said


def test_deep_nesting_is_refused_before_it_is_built() -> None:
    for text in ("[" * 500_000, "a: " + "{b: " * 30 + "1" + "}" * 30):
        assert "nested more than 20 deep" in refusal(text)


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
