# SPDX-License-Identifier: Apache-2.0
"""Forms of the OSU suite's output beside the samples: older versions and other columns."""

import pytest

from checks.adapters import osu
from checks.adapters.json_lines import OutputError


def test_start_up_of_version_5_has_neither_title_nor_unit():
    values = osu.parse_init("nprocs: 2, min: 120, max: 127, avg: 123\n", 2)
    assert [round(value.value, 3) for value in values] == [0.120, 0.123, 0.127]
    with pytest.raises(OutputError):
        osu.parse_init("nprocs: 2, min: 120 ms, max: 127, avg: 123\n", 2)


def test_version_5_one_sided_and_rates():
    latency = "# OSU MPI_Put Latency Test v5.3\n# Window creation: MPI_Win_allocate\n"
    latency += (
        "# Size          Latency (us)\n0                       1.20\n1                       1.31\n"
    )
    assert [v.message_bytes for v in osu.parse(latency, [0, 1]).values] == [0, 1]
    rate = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.3\n"
    rate += "# [ pairs: 1 ] [ window size: 64 ]\n"
    rate += "# Size                  MB/s        Messages/s\n"
    rate += "1                       3.17        3173310.11\n"
    values = osu.parse(rate, [1]).values
    assert [(v.metric, v.value) for v in values] == [
        ("osu_bandwidth", 3.17e6),
        ("osu_message_rate", 3173310.11),
    ]


def test_an_unknown_column_or_version_is_refused():
    text = "# OSU MPI Latency Test v{}\n# Size          {}\n1                       1.20\n"
    assert osu.parse(text.format("7.4", "Avg Latency(us)"), [1])
    for version, column in (("8.0", "Avg Latency(us)"), ("7.4", "Joy(us)")):
        with pytest.raises(OutputError):
            osu.parse(text.format(version, column), [1])
