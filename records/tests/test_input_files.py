# SPDX-License-Identifier: Apache-2.0
"""Files of others: huge ones cost nothing, a member that appears twice is a fault."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from records import input_files
from records.errors import AssayError
from records.input_files import MOST_BYTES, read_whole, refuse_twice


def test_a_huge_file_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    path.touch()
    os.truncate(path, MOST_BYTES + 1)

    class Unread(io.FileIO):
        """An open file that cannot be read."""

        read = None  # type: ignore[assignment]

    monkeypatch.setattr(input_files, "opened", Unread)
    with pytest.raises(AssayError, match="is larger than"):
        read_whole(path)


@pytest.mark.parametrize(
    "text",
    [
        *(b'{"a":1,"a":1}\n', b'{"a": {"b": 1, "b": 2}}'),
        *(b'[{"x": 0}, {"x": 1, "y": [], "x": 1}]', b'{"a":1,"\\u0061":1}'),
    ],
)
def test_a_member_that_stands_twice_is_a_fault(text: bytes) -> None:
    with pytest.raises(AssayError, match=r"f:1: not x: the member '[abx]' appears twice"):
        refuse_twice(text, "f", "x")


@pytest.mark.parametrize("text", [b'{"a":1,"b":{"a":1}}\n', b'{ "a" : [{"a": 1.50}, {"a": 2}] }\n'])
def test_equal_members_of_different_objects_are_good(text: bytes) -> None:
    refuse_twice(text, "f", "x")
