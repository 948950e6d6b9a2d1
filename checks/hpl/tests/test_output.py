# SPDX-License-Identifier: Apache-2.0
"""HPL's output, real and damaged: nothing damaged ever becomes a result."""

import re
from pathlib import Path

import pytest

from checks.common.json_lines import Output, OutputError
from checks.hpl import HplParameters
from checks.hpl.output import operations, parse
from checks.hpl.run import read_other_build

DATA = Path(__file__).parents[1] / "samples"
SAMPLES = sorted(DATA.glob("*.txt"))
#: Parameters of each sample.
LARGE = {"n": 2000, "nb": 128, "p": 1, "rfact": "crout", "swap_threshold": 64}
TWO_RANKS = HplParameters.model_validate({**LARGE, "q": 2})
OF = {
    "hpl-2.0.mpich.2ranks": TWO_RANKS,
    "hpl-2.0.openmpi.1rank": HplParameters.model_validate({**LARGE, "q": 1}),
    "hpl-2.3.mpich.2ranks": HplParameters.model_validate({"n": 200, "nb": 32, "p": 1, "q": 2}),
}


@pytest.fixture(params=SAMPLES, ids=lambda path: path.stem)
def sample(request):
    return request.param.read_text(), OF[request.param.stem]


def result_line(text):
    return next(line for line in text.splitlines() if line.startswith("WR"))


def residual_line(text):
    return next(line for line in text.splitlines() if line.startswith("||Ax-b"))


def test_real_output_gives_its_result():
    result = parse((DATA / "hpl-2.0.mpich.2ranks.txt").read_text(), TWO_RANKS)
    assert result.time_s == 0.08
    assert result.rate_flop_per_s == pytest.approx(6.396e10)
    assert result.residual == pytest.approx(0.003679)
    assert operations(2000) == pytest.approx(2 / 3 * 2000**3 + 1.5 * 2000**2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text, line: text.replace(line + "\n", ""),
        lambda text, line: text.replace(line, f"{line}\n{line}"),
        lambda text, line: text.replace(line, line[:30] + "slurmstepd: error\n" + line[30:]),
        lambda text, line: text + text,
        lambda text, line: bytes(range(256)).decode("latin-1") * 50,
    ],
)
@pytest.mark.parametrize("find", [result_line, residual_line])
def test_a_damaged_line_is_refused(sample, find, damage):
    text, asked = sample
    with pytest.raises(OutputError):
        parse(damage(text, find(text)), asked)


#: What is changed, and what is said of it.
IMPOSSIBLE = [
    (r"\.{6} PASSED", "...... FAILED", "FAILED"),
    (r"1( tests completed and passed.*\n +)0", r"0\g<1>1", "summary"),
    (r"(?m)^(WR.* )\S+( +\S+)$", r"\g<1>9.99\2", "belong together"),
    *((r"(=\s+)\S+( \.{6})", rf"\g<1>{residual}\2", "") for residual in ("nan", "inf", "-1.0")),
    *((r"(?m)^(WR.* )\S+$", rf"\g<1>{rate}", "") for rate in ("nan", "NaN", "-nan", "inf")),
    *((r"(?m)^(WR.* )\S+$", rf"\g<1>{rate}", "") for rate in ("0.000e+00", "-6.4e+01", "6.4e+90")),
]


@pytest.mark.parametrize(("pattern", "instead", "said"), IMPOSSIBLE)
def test_an_impossible_or_failed_result_is_refused(sample, pattern, instead, said):
    text, asked = sample
    changed = re.sub(pattern, instead, text)
    assert changed != text
    with pytest.raises(OutputError, match=said or None):
        parse(changed, asked)


#: An HPL 2.3 of a site's own, which prints no line of ours.
OTHER = (DATA / "hpl-2.3.mpich.2ranks.txt").read_text()
ASKED = OF["hpl-2.3.mpich.2ranks"]


def test_another_build_of_hpl_gives_its_printed_rate_and_the_time_that_belongs_to_it():
    rate, time = read_other_build(ASKED, Output(), OTHER).metrics
    assert (rate.name, time.name) == ("rate", "time")
    assert rate.value == parse(OTHER, ASKED).rate_flop_per_s
    assert rate.value * time.value == pytest.approx(operations(200))


def test_another_build_must_have_run_what_was_asked_within_the_launch():
    other = HplParameters(n=200, nb=32, p=2, q=1)
    with pytest.raises(OutputError, match="HPL ran with P = '1'; asked was 2"):
        read_other_build(other, Output(), OTHER)
    short = Output(stamps={"launch_begin": 10.0, "launch_end": 10.1})
    wrong = read_other_build(ASKED, short, OTHER).wrong
    assert "took 0.3 s at least; the whole launch took 0.1 s" in wrong


def test_what_a_vendors_build_prints_besides_is_left_aside():
    """HPL_PROGRESS_REPORT, HPL_DETAILED_TIMING, and more digits."""
    line = result_line(OTHER)
    rate = parse(OTHER, ASKED).rate_flop_per_s
    more = "Column=000000064 Fraction=0.320 Gflops=1.2e+00\n" + line.rsplit(" ", 1)[0]
    more += f" {rate / 1e9:.6e}\n" + "--VVV" * 15 + "\n"
    more += "Max aggregated wall time rfact . . . :               0.01\n"
    head, tail = OTHER.split("=" * 80 + "\nT/V", 1)
    progress, result = more.split("\n", 1)
    text = f"{head}{progress}\n{'=' * 80}\nT/V{tail}".replace(line + "\n", result)
    assert read_other_build(ASKED, Output(), text).metrics[0].value == pytest.approx(rate)


def test_another_form_of_output_is_named():
    """HPL 1.0 checks three residuals; a build for GPUs has another heading and a rate of each."""
    residual = residual_line(OTHER)
    old = "\n".join(
        f"||Ax-b||_oo / ( eps * {norm} ) =        0.0320520 ...... PASSED"
        for norm in ("||A||_1  * N       ", "||A||_1  * ||x||_1 ", "||A||_oo * ||x||_oo")
    )
    with pytest.raises(OutputError, match=r"as its residual .* HPL 2\.0 to 2\.3 print"):
        read_other_build(ASKED, Output(), OTHER.replace(residual, old))
    heading = "         Time          Gflops (   per GPU)"
    text = OTHER.replace("               Time                 Gflops", heading)
    with pytest.raises(OutputError, match=r"heading \['T/V .*per GPU\)'\]; right is"):
        read_other_build(ASKED, Output(), text)


@pytest.mark.parametrize("noise", ["\x85", "\x1c", "\u2028", "\r", "\xa0"])
@pytest.mark.parametrize("form", ["{noise}P      :", "P      : {noise}"])
def test_a_setting_beside_a_character_that_hpl_does_not_print_is_refused(noise, form):
    with pytest.raises(OutputError, match=r"settings|HPL ran with"):
        parse(OTHER.replace("P      :", form.format(noise=noise)), ASKED)
