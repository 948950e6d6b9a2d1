# SPDX-License-Identifier: Apache-2.0
"""Forms of the OSU suite's output beside the samples: older versions and other columns."""

import pytest
from pydantic import ValidationError

from checks.common.json_lines import OutputError
from checks.osu import OsuParameters
from checks.osu import output as osu


def parse(text, test, least=1, greatest=1, **asked):
    params = OsuParameters(test=test, least_bytes=least, greatest_bytes=greatest, **asked)
    return osu.parse(text, params).values


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


NON_BLOCKING = """# OSU MPI Non-blocking {} Latency Test v{}
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

{}       Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)\
    Pure Comm.(us)     Min Comm.(us)     Max Comm.(us)        Overlap(%)
{}       18840.49          18824.55              6.08              0.00              9.53\
          11669.07           {}          14305.59             99.86
"""


@pytest.mark.parametrize("version", ["5.7", "7.0-abc2", "7.4"])
@pytest.mark.parametrize(("heading", "size"), [("# Size    ", 4), ("# ", None), ("     ", None)])
def test_full_statistics_of_operations_that_do_not_block(version, heading, size):
    test = "osu_ibarrier" if size is None else "osu_iallreduce"
    title = "Barrier" if size is None else "Allreduce"
    text = NON_BLOCKING.format(title, version, heading, size or "", "9032.55")
    values = {value.name: value.value for value in parse(text, test, 4, 4, full=True)}
    assert values["osu_test_time"] == 0
    assert values["osu_wait_time"] == pytest.approx(9.53e-6)
    assert values["osu_communication_least"] < values["osu_communication_time"]
    disorder = NON_BLOCKING.format(title, version, heading, size or "", "9132.55")
    with pytest.raises(OutputError, match="a mean of 2 ranks that its least and greatest do not"):
        parse(disorder, test, 4, 4, full=True)


TAILS = "P50 Tail BW(MB/s) P90 Tail BW(MB/s) P99 Tail BW(MB/s)"


def test_tails_of_a_bandwidth_stand_a_space_apart():
    heading = f"# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s) {TAILS}"
    text = table("Bandwidth", heading, "4           0.05         0.04       0.56      0.57")
    values = parse(text, "osu_bw", 4, 4, tails=True)
    found = {value.at.get("percentile"): value.value for value in values}
    assert found == pytest.approx({None: 5e4, 50: 4e4, 90: 5.6e5, 99: 5.7e5})


def test_tails_beside_a_message_rate_and_tails_that_are_not_printed():
    heading, values = f"{PAIRS}{SIZE}    MB/s        Messages/s {TAILS}", "8    21.75    2718661.04"
    whole = table(RATE, heading, f"{values}        29.36      35.18    35.18")
    found = parse(whole, "osu_mbw_mr", 8, 8, tails=True)
    assert [value.at.get("percentile") for value in found] == [None, None, 50, 90, 99]
    with pytest.raises(OutputError, match="does not fit OSU's heading"):
        parse(table(RATE, heading, values), "osu_mbw_mr", 8, 8, tails=True)


def test_data_that_fail_the_suites_own_validation_are_a_wrong_answer():
    line = "DATA VALIDATION ERROR: /x/osu_allreduce exited with status 1 on message size 16."
    assert line in str(osu.failed_validation(f"# Size\n{line}\n"))
    assert osu.failed_validation("# Size  Validation\n4  Pass\n") is None


def test_full_statistics_are_those_of_collective_operations():
    assert OsuParameters(test="osu_ibarrier", full=True).full
    with pytest.raises(ValidationError, match="osu_latency has no option -f"):
        OsuParameters(test="osu_latency", full=True)


def test_a_rank_that_is_done_within_a_step_of_the_clock_has_no_least_time():
    heading = f"{SIZE}Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations"
    text = table("Gather Latency", heading, "1      1.50         0.00       3.00         20")
    found = parse(text, "osu_gather", full=True, iterations=20)
    values = {value.name: value.value for value in found}
    assert values["osu_latency_least"] == 0
    with pytest.raises(OutputError, match="not a possible measurement"):
        parse(text.replace("1.50", "0.00"), "osu_gather", full=True, iterations=20)


def test_a_tail_is_no_longer_than_its_mean_allows():
    def read(tails):
        heading = f"{SIZE}Avg Latency(us)  {TAILS.replace('BW(MB/s)', 'Lat(us)')}"
        return parse(table("Latency", heading, f"1    10.00    {tails}"), "osu_latency", tails=True)

    assert len(read("9.00    12.00    900.00")) == 4
    for tails in ("9.00    12.00    90000.00", "45.00    45.00    45.00"):
        with pytest.raises(OutputError, match="a tail of"):
            read(tails)
