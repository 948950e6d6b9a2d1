# SPDX-License-Identifier: Apache-2.0
"""Forms of the OSU suite's output beside the samples: older versions and other columns."""

import pytest

from checks.common.json_lines import OutputError
from checks.osu import OsuParameters
from checks.osu import run as osu


def parse(text, test, least=1, greatest=1, **asked):
    params = OsuParameters(test=test, least_bytes=least, greatest_bytes=greatest, **asked)
    return osu.parse(text, params)[1]


def table(name, heading, *rows, version="7.4"):
    """A table of the suite; `heading` begins with the lines before its own, if there are any."""
    return "\n".join([f"# OSU MPI {name} Test v{version}", heading, *rows, ""])


RATE, SIZE = "Multiple Bandwidth / Message Rate", "# Size       "
PAIRS = "# [ pairs: 1 ] [ window size: 64 ]\n"


def test_start_up_of_version_5_has_neither_title_nor_unit():
    values = osu.parse_init("nprocs: 2, min: 120, max: 127, avg: 123\n", 2)
    assert [round(value.value, 3) for value in values] == [0.120, 0.123, 0.127]
    with pytest.raises(OutputError):
        osu.parse_init("nprocs: 2, min: 120 ms, max: 127, avg: 123\n", 2)


def test_version_5_one_sided_and_rates():
    latency = "# OSU MPI_Put Latency Test v5.3\n# Window creation: MPI_Win_allocate\n"
    latency += f"{SIZE}   Latency (us)\n0           1.20\n1           1.31\n"
    found = parse(latency, "osu_put_latency", least=0)
    assert [value.at["message_bytes"] for value in found] == [0, 1]
    heading, row = f"{PAIRS}{SIZE}     MB/s        Messages/s", "1    3.17        3173310.11"
    values = parse(table(RATE, heading, row, version="5.6.3"), "osu_mbw_mr")
    found = {value.name: value.value for value in values}
    assert found == {"osu_bandwidth": 3.17e6, "osu_message_rate": 3173310.11}


def test_an_unknown_column_or_version_is_refused():
    def read(version, column):
        text = table("Latency", f"{SIZE}{column}", "1       1.20", version=version)
        return parse(text, "osu_latency")

    assert read("7.4", "Avg Latency(us)")
    for version, column in (("8.0", "Avg Latency(us)"), ("7.4", "Joy(us)")):
        with pytest.raises(OutputError):
            read(version, column)


def test_a_rank_that_is_done_within_a_step_of_the_clock_has_no_least_time():
    heading = f"{SIZE}Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    text = table("Gather Latency", heading, "1      1.50         0.00       3.00         20")
    found = parse(text, "osu_gather", full=True, iterations=20)
    assert {value.name: value.value for value in found}["osu_latency_least"] == 0
    with pytest.raises(OutputError, match="not a possible measurement"):
        parse(text.replace("1.50", "0.00"), "osu_gather", full=True, iterations=20)
