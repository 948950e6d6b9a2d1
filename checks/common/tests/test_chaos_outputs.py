# SPDX-License-Identifier: Apache-2.0
"""No output is believed in which something was changed that was asked or stands in it twice."""

import json
import re

import pytest

from bench.chaos_outputs import MISSED, RAISED, REFUSED, run
from bench.output_samples import samples
from checks.common.json_lines import OutputError

GOOD = {sample.name: sample for sample in samples()}


def refusal(name, text):
    try:
        return GOOD[name].judge(text).wrong
    except OutputError as error:
        return str(error)


@pytest.mark.parametrize("name", GOOD)
def test_every_good_output_is_believed(name):
    assert GOOD[name].judge(GOOD[name].text).metrics
    assert refusal(name, GOOD[name].text) is None


def test_none_of_many_changed_outputs_is_believed():
    counts = run(5000, seed=13)
    assert counts.misses == []
    total = sum(found[REFUSED] for found in counts.by_check.values())
    assert total > 4000
    assert not any(found[MISSED] + found[RAISED] for found in counts.by_mutation.values())


@pytest.mark.parametrize(
    ("name", "pattern", "instead", "said"),
    [
        ("osu osu-7.4.mpich.osu_bcast", "Broadcast", "Allreduce", "asked was osu_bcast"),
        ("osu osu-7.4.mpich.osu_bw", "Bandwidth Test", "Latency Test", "asked was osu_bw"),
        ("osu osu-7.4.mpich.osu_bw", r"Bandwidth \(MB/s\)", "Avg Latency(us)", "has others"),
        ("osu mbw_mr", r"(MB/s)( +)(Messages/s)", r"\3\2\1", "has others"),
        (
            "osu mbw_mr",
            r"(?m)^(\d+ +)(\S+)( +)(\S+)$",
            r"\1\4\3\2",
            "a message rate that is not bandwidth over size",
        ),
        ("osu mbw_mr", "pairs: 1", "pairs: 2", "right is '1"),
        ("osu osu-7.4.mpich.osu_latency", "MPI_CHAR", "MPI_FLOAT", "right is ': MPI_CHAR.'"),
        ("osu osu-7.4.mpich.osu_allreduce.full.validate", r" 50 ", " 51 ", "made 51 iterations"),
        (
            "osu osu-7.4.mpich.osu_allreduce.full.validate",
            "8.46 ",
            "8.49 ",
            "a mean of 2 ranks that its least and greatest do not allow",
        ),
        ("osu osu_ialltoall", r"\d+\.\d\d\n(?=2 )", "12.00\n", "an overlap that does not follow"),
        ("osu osu-7.4.mpich.osu_init", "avg: 54", "avg: 55", None),
        ("osu osu-7.4.mpich.osu_init", "avg: 54", "avg: 57", "impossible mean"),
        (
            "osu osu-7.4.mpich.osu_latency",
            r"(?<=\d)\.(?=\d\d\n)",
            "00000.",
            "the whole launch took",
        ),
        ("hpl launch.mpich", r'(?m)^.*"hpl_result".*\n', "", "gave no result"),
        ("hpl launch.mpich", r'("time_s":0\.\d)\d', r"\g<1>9", "reports the (printed )?rate|time"),
        ("hpl launch.mpich", "WR11R2R4", "WR11C2R4", "asked was .variant"),
        ("hpl launch.mpich", "BCAST  :  1ringM", "BCAST  :   Blong", "BCAST = 'Blong'"),
        ("hpl launch.mpich", "less than                16.0", "less than  32.0", "threshold"),
        ("hpl launch.lam", '"residual":0.00', '"residual":0.01', "reports the residual"),
        ("hpl launch.lam", '"mpi":"LAM/MPI 7.1.4', '"mpi":"LAM/MPI 7.1.3', "names the library"),
        ("netpipe launch.mpich", "(?m)^1: n2$", "1: n1", "say that they are on"),
        ("netpipe launch.mpich", "no perturbations", "a perturbation value of 3", "perturbations"),
        ("netpipe launch.mpich", r"(\d\.\d\d) usec", r"\g<1>0 usec", "cannot be read"),
        (
            "netpipe pvm",
            r'(?m)^.*"assay":"end".*\n',
            "",
            "did not reach its end|end was reached by",
        ),
        ("su3_rmd original.double", "beta 6\n", "beta 5.7\n", "beta 5.7; asked was 6"),
        ("su3_rmd original.double", "iseed 8352", "iseed 8353", "iseed 8353"),
        ("su3_rmd original.double", "8 x 8|4 x 8", "4 x 4", "does not make the lattice"),
        ("su3_rmd original.double", "9.990000e[+]01", "9.990000e+00", "no gauge field has"),
        ("su3_rmd original.double", "PLAQ: 3.0", "PLAQ: 2.9", "a unit field's plaquettes are 3"),
        ("su3_rmd original.double", "e-02 seconds", "e+02 seconds", "the whole launch took"),
        (
            "su3_rmd mpich.2ranks",
            "GMES 1.89678",
            "GMES 1.89679",
            "printed polyakov_re 1.89679 and reported 1.89678",
        ),
        ("su3_rmd mpich.2ranks", '"trajectory":9', '"trajectory":10', "not those of the traj"),
        ("su3_rmd mpich.2ranks", "overlap no\n", "overlap yes\n", "overlap yes; asked was no"),
        (
            "pt2pt mpich",
            r'"settings":\{.*\}(?=\}\n)',
            '"settings":null',
            "did not print the settings",
        ),
        ("pt2pt mpich", r'(?m)^.*"payload_verified".*\n', "", "did not say payload_verified"),
        ("pt2pt mpich", '"program":"pt2pt"', '"program":"ring"', "the end was reached by"),
        ("ring lam", '"inject-fault":false', '"inject-fault":true', "the fault True"),
        ("ring lam", '"from_host":"n1"', '"from_host":"n2"', "a link between other hosts"),
        ("startup lam", '"init_mean_s","value":0', '"init_mean_s","value":1', "init took"),
        (
            "collectives each.lam",
            '"key":"ranks","value":3',
            '"key":"ranks","value":4',
            "right is 3",
        ),
    ],
)
def test_what_was_changed_is_named(name, pattern, instead, said):
    text, changes = re.subn(pattern, instead, GOOD[name].text)
    assert changes
    found = refusal(name, text)
    assert found is None if said is None else re.search(said, str(found))


def test_times_that_do_not_fit_into_the_launch_are_refused():
    """All times a thousand times as long, and all that follows from them."""

    def slower(name):
        share = {"s": 1e3, "bytes/s": 1e-3}
        lines = GOOD[name].text.split("\n")
        for place, line in enumerate(lines):
            if line.startswith('{"assay":"metric"'):
                entry = json.loads(line)
                entry["value"] *= share[entry["unit"]]
                if "samples" in entry:
                    entry["samples"] = [one * share[entry["unit"]] for one in entry["samples"]]
                lines[place] = json.dumps(entry)
        return "\n".join(lines)

    for name in ("pt2pt mpich", "echo tcp.openmpi", "collectives each.lam", "streams mpich"):
        said = str(refusal(name, slower(name)))
        assert re.search("what was timed took .* at least; the whole launch", said)


def test_one_line_of_netpipe_with_rate_and_time_exchanged_is_refused():
    pattern = r"(?m)^( +1: .* --> +)(\S+)( Mbps in +)(\S+)( usec)$"
    text = re.sub(pattern, r"\1\4\3\2\5", GOOD["netpipe launch.mpich"].text)
    assert "the rate in its place?" in str(refusal("netpipe launch.mpich", text))
