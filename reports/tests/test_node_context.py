# SPDX-License-Identifier: Apache-2.0
"""What else changed: a fact of nodes is named, and the first night that knows any is no change."""

import pytest

from records.history.model import Night
from reports.load.nights import context_starts
from reports.verdicts.nightly.wording import context_changes

KNOWN = {"host.kernel": "6.1", "node.kernel": "Linux 5.14", "environments.mpich.library": "4.0.2"}


def night(context):
    return Night("r", "s", "c", "2026-01-01T00:00:00Z", context, ("c1",), {})


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("node.kernel", "Linux 5.14 on c1; Linux 6.1 on c2"),
        ("node.gpus", "A100"),
        ("environments.mpich.library", "4.1"),
    ],
)
def test_a_changed_fact_of_nodes_is_named(name, after):
    (change,) = context_changes(night(KNOWN), night(KNOWN | {name: after}))
    assert (change.name, change.before, change.after) == (name, KNOWN.get(name), after)


def test_a_night_that_asked_no_nodes_says_nothing_of_them():
    assert context_changes(night({"host.kernel": "6.1"}), night(KNOWN)) == []
    (change,) = context_changes(night({"host.kernel": "5.9"}), night(KNOWN))
    assert change.name == "host.kernel"


def test_facts_of_nodes_begin_no_level():
    nights = [night({"host.kernel": "6.1"}), night(KNOWN), night({**KNOWN, "node.kernel": "x"})]
    assert context_starts(nights, "mpich").tolist() == [0, 0, 0]
    nights.append(night({**KNOWN, "host.kernel": "6.2"}))
    assert context_starts(nights, "mpich").tolist() == [0, 0, 0, 3]
