# SPDX-License-Identifier: Apache-2.0
"""Makers of metrics, and those that more than one check reports."""

from statistics import fmean

from checks.common.answer import Relation, length_over, of_samples
from records.metric import Kind, Limit, MetricDefinition


def time_metric(
    name: str,
    definition: str,
    title: str = "",
    *,
    may_be_zero: bool = False,
    limit: Limit = "",
    kind: Kind = "",
) -> MetricDefinition:
    """A time in s; less is better."""
    return MetricDefinition(
        name, "s", "lower", definition, may_be_zero, title, limit=limit, kind=kind
    )


def rate_metric(
    name: str, definition: str, title: str = "", unit: str = "bytes/s", *, limit: Limit = ""
) -> MetricDefinition:
    """A rate; more is better."""
    return MetricDefinition(name, unit, "higher", definition, title=title, limit=limit)


RATE = rate_metric(
    "rate",
    "operations over time; HPL: 2N³/3 + 3N²/2 over the solution time; su3_rmd: over"
    " the program time, as the original counts: a site 17112 a step, 5616 a"
    " trajectory, 2592 a measurement",
    unit="flop/s",
    limit="flop",
)
HOPS = MetricDefinition(
    "hops",
    "1",
    "lower",
    "between the two nodes, by the topology that the site declares: switches passed in a tree",
    measured=False,
)
LAUNCH = time_metric(
    "launch", "the launcher's whole run, without daemon boot/halt", title="whole launch"
)

#: Other statistics of a launch's one-way times than their median: name, word, function.
_STATISTICS = (
    ("best", "least", min),
    ("mean", "mean", fmean),
    ("worst", "greatest", max),
)

#: The median first: it comes with its samples.
HALF_ROUND_TRIPS = (
    time_metric(
        "half_round_trip",
        "half the time of a ping-pong round trip; the launch's value is the median",
        "one-way time",
        limit="link",
    ),
    *(
        time_metric(
            f"half_round_trip_{name}",
            f"{word} one-way time of a launch",
            f"{word} one-way time",
            limit="link",
        )
        for name, word, _ in _STATISTICS
    ),
)
BANDWIDTHS = (
    rate_metric("bandwidth", "message length over the median one-way time", limit="link"),
    *(
        rate_metric(
            f"bandwidth_{name}", f"message length over the {word} one-way time", limit="link"
        )
        for name, word, _ in _STATISTICS
    ),
)

#: How they depend on the samples and on each other.
ECHO_RELATIONS: dict[str, Relation] = {
    "bandwidth": length_over("half_round_trip"),
    **{f"half_round_trip_{name}": of_samples(of, "half_round_trip") for name, _, of in _STATISTICS},
    **{f"bandwidth_{name}": length_over(f"half_round_trip_{name}") for name, _, _ in _STATISTICS},
}
