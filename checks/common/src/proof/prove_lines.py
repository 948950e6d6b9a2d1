# SPDX-License-Identifier: Apache-2.0
"""Prove what a program of ours printed, read from standard input.

usage: prove_lines.py end PROGRAM RANKS | stale PROGRAM RANKS | error TEXT

`end`: every line of ours is JSON, the program came to its end, and one evidence line names each of
RANKS ranks once with its host and CPUs. `stale`: the same, and the program counted stale replies
and called itself invalid. `error`: exactly one error line, with TEXT in its message, and no end.
"""

from __future__ import annotations

import json
import sys
from typing import Any

Line = dict[str, Any]


def _lines_of_ours() -> list[Line]:
    """The JSON lines on standard input; a line that begins like ours and is no JSON ends us."""
    return [json.loads(text) for text in sys.stdin if text.startswith('{"assay"')]


def _kind(lines: list[Line], name: str) -> list[Line]:
    return [line for line in lines if line["assay"] == name]


def _prove(what: str, found: object, expected: object) -> bool:
    """Print one line of proof; True when found equals expected."""
    right = found == expected
    print(f"{'right' if right else 'WRONG':6} {what}: found {found!r}, expected {expected!r}")
    return right


def _prove_end(lines: list[Line], program: str, ranks: int) -> bool:
    evidence = _kind(lines, "evidence")
    results = [
        _prove("end", [line["program"] for line in _kind(lines, "end")], [program]),
        _prove("errors", _kind(lines, "error"), []),
        _prove("evidence lines", len(evidence), 1),
    ]
    if evidence:
        facts = evidence[0]["ranks"]
        results += [
            _prove("ranks", [fact["rank"] for fact in facts], list(range(ranks))),
            _prove("pids", len({fact["pid"] for fact in facts}), ranks),
            _prove("host and CPUs", all(fact["host"] and fact["cpus"] for fact in facts), True),
            _prove("links on one host", evidence[0]["links"], []),
        ]
        print(f"       library {evidence[0]['library']} from {evidence[0]['library_file']}")
        file = evidence[0]["library_file"]
        results.append(_prove("file is a shared library", ".so" in file, True))
    return all(results)


def _prove_stale(lines: list[Line]) -> bool:
    notes = {line["key"]: line["value"] for line in _kind(lines, "note")}
    return all(
        [
            _prove("stale replies counted", notes.get("stale_replies", 0) > 0, True),
            _prove("invalid", notes.get("invalid"), "reply-before-wait"),
        ]
    )


def _prove_error(lines: list[Line], text: str) -> bool:
    messages = [line["message"] for line in _kind(lines, "error")]
    return all(
        [
            _prove("error lines", len(messages), 1),
            _prove(f"message with '{text}'", any(text in message for message in messages), True),
            _prove("end lines", len(_kind(lines, "end")), 0),
        ]
    )


def _main(arguments: list[str]) -> int:
    lines = _lines_of_ours()
    if arguments[0] == "error":
        return 0 if _prove_error(lines, arguments[1]) else 1
    right = _prove_end(lines, arguments[1], int(arguments[2]))
    if arguments[0] == "stale":
        right = _prove_stale(lines) and right
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
