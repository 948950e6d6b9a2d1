# SPDX-License-Identifier: Apache-2.0
"""Prove what a program of ours printed, read from standard input.

usage: prove_lines.py end PROGRAM RANKS | stale PROGRAM RANKS | error TEXT

`end`: every line of ours is JSON, the program came to its end, and one evidence line names each of
RANKS ranks once with its host and CPUs. `stale`: the same, and the program counted stale replies
and called itself invalid. `error`: exactly one error line, with TEXT in its message, and no end.
"""

import json
import sys
from typing import Any

Line = dict[str, Any]


#: What was proved so far.
RESULTS: list[bool] = []


def _prove(what: str, found: object, expected: object) -> None:
    right = found == expected
    print(f"{'right' if right else 'WRONG':6} {what}: found {found!r}, expected {expected!r}")
    RESULTS.append(right)


def _kind(lines: list[Line], name: str) -> list[Line]:
    return [line for line in lines if line["assay"] == name]


def prove_end(lines: list[Line], program: str, ranks: int) -> None:
    """The program came to its end, with one evidence line of all its ranks."""
    _prove("end", [line["program"] for line in _kind(lines, "end")], [program])
    _prove("errors", _kind(lines, "error"), [])
    evidence = _kind(lines, "evidence")
    _prove("evidence lines", len(evidence), 1)
    if evidence:
        facts, file = evidence[0]["ranks"], evidence[0]["library_file"]
        _prove("ranks", [fact["rank"] for fact in facts], list(range(ranks)))
        _prove("pids", len({fact["pid"] for fact in facts}), ranks)
        _prove("host and CPUs", all(fact["host"] and fact["cpus"] for fact in facts), True)
        _prove("links on one host", evidence[0]["links"], [])
        print(f"       library {evidence[0]['library']} from {file}")
        _prove("file is a shared library", ".so" in file, True)


def main(arguments: list[str]) -> int:
    """Prove what is asked of the JSON lines; one that begins like ours and is no JSON ends us."""
    lines = [json.loads(text) for text in sys.stdin if text.startswith('{"assay"')]
    if arguments[0] == "error":
        messages, text = [line["message"] for line in _kind(lines, "error")], arguments[1]
        _prove("error lines", len(messages), 1)
        _prove(f"message with '{text}'", any(text in message for message in messages), True)
        _prove("end lines", len(_kind(lines, "end")), 0)
    else:
        prove_end(lines, arguments[1], int(arguments[2]))
    if arguments[0] == "stale":
        notes = {line["key"]: line["value"] for line in _kind(lines, "note")}
        _prove("stale replies counted", notes.get("stale_replies", 0) > 0, True)
        _prove("invalid", notes.get("invalid"), "reply-before-wait")
    return 0 if all(RESULTS) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
