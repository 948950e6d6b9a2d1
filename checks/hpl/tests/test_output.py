# SPDX-License-Identifier: Apache-2.0
"""HPL's output gives the result that it prints; what is refused is in common/tests."""

from pathlib import Path

import pytest

from checks.common.json_lines import Output
from checks.hpl import HplParameters
from checks.hpl.run import operations, parse, read_other_build

DATA = Path(__file__).parents[1] / "samples"
#: An HPL 2.3 of a site's own, which prints no line of ours.
OTHER = (DATA / "hpl-2.3.mpich.2ranks.txt").read_text()
ASKED = HplParameters.model_validate({"n": 200, "nb": 32, "p": 1, "q": 2})


def test_real_output_gives_its_result():
    asked = {"n": 2000, "nb": 128, "p": 1, "q": 2, "rfact": "crout", "swap_threshold": 64}
    text = (DATA / "hpl-2.0.mpich.2ranks.txt").read_text()
    result = parse(text, HplParameters.model_validate(asked))
    assert result.time_s == 0.08
    assert result.rate_flop_per_s == pytest.approx(6.396e10)
    assert result.residual == pytest.approx(0.003679)
    assert operations(2000) == pytest.approx(2 / 3 * 2000**3 + 1.5 * 2000**2)


def test_another_build_of_hpl_gives_its_printed_rate_and_the_time_that_belongs_to_it():
    rate, time = read_other_build(ASKED, Output(), OTHER).metrics
    assert (rate.name, time.name) == ("rate", "time")
    assert rate.value == parse(OTHER, ASKED).rate_flop_per_s
    assert rate.value * time.value == pytest.approx(operations(200))


def test_what_a_vendors_build_prints_besides_is_left_aside():
    """HPL_PROGRESS_REPORT, HPL_DETAILED_TIMING, and more digits."""
    line = next(line for line in OTHER.splitlines() if line.startswith("WR"))
    rate = parse(OTHER, ASKED).rate_flop_per_s
    more = "Column=000000064 Fraction=0.320 Gflops=1.2e+00\n" + line.rsplit(" ", 1)[0]
    more += f" {rate / 1e9:.6e}\n" + "--VVV" * 15 + "\n"
    more += "Max aggregated wall time rfact . . . :               0.01\n"
    head, tail = OTHER.split("=" * 80 + "\nT/V", 1)
    progress, result = more.split("\n", 1)
    text = f"{head}{progress}\n{'=' * 80}\nT/V{tail}".replace(line + "\n", result)
    assert read_other_build(ASKED, Output(), text).metrics[0].value == pytest.approx(rate)
