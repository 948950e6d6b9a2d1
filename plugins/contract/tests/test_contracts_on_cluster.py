# SPDX-License-Identifier: Apache-2.0
"""A contract on a real cluster: a stage that is killed, one that is waived, a period; a mix."""

import signal
import subprocess
from itertools import pairwise

from assay.tests.test_run_on_cluster import ASSAY, SITE, campaign, finish, wait_for_records
from assay.tests.test_run_on_cluster import of_full as pytestmark
from plugins.contract.log import open_contract
from plugins.contract.mixes import mix_of
from records.run.record import read_records
from records.run.run_directory import open_run
from setup.tests.needs import NEEDS_HPL

__all__ = ["pytestmark"]
CONTRACT = """\
schema: 1
name: mine
title: A contract
stages:
  - name: inventory
    title: Jobs start
    campaign: tiny.yaml
    criteria:
      - {id: start, kind: limit, title: In time, check: startup, metric: whole_start,
         at_most: 300, unit: s}
  - name: fast
    title: Jobs start in no time
    campaign: tiny.yaml
    repeats: 3
    reruns_at_most: 0
    criteria:
      - {id: start, kind: limit, title: In no time, check: startup, metric: whole_start,
         at_most: 1.0e-6, unit: s}
      - {id: at-all, kind: limit, title: At all, check: startup, metric: whole_start,
         at_most: 300, unit: s}
  - name: stability
    title: An hour
    stability: {days: 0.0416667, scale: 720, every_s: 3600, mtbi_h: 0.4}
"""


def acceptance(*words):
    words = [ASSAY, "contract", *words]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_contract_is_walked_from_start_to_its_signed_document(cluster, folder):
    def ends(expected, *words):
        status, output = finish(acceptance(*words))
        assert status == expected, output

    campaign(folder, "tiny", "mpich", 4, "  - check: startup\n    fixed: {ranks: 2}\n")
    (folder / "mine.yaml").write_text(CONTRACT)
    ends(0, "start", "mine.yaml", "--site", SITE)
    killed = acceptance("next")
    wait_for_records(folder, "tiny", 1)
    killed.send_signal(signal.SIGKILL)
    finish(killed)
    ends(0, "next")
    assert len(open_contract(None).entries()) == 3, "the killed run is gone on with, not another"
    ends(1, "next")
    ends(3, "waive", "fast", "--by", "A. Buyer", "--reason", "nobody needs that")
    ends(0, "next")
    ends(0, "sign", "--role", "Buyer", "--by", "A. Buyer")
    ends(0, "report")
    page = (open_contract(None).path / "document.html").read_text()
    assert all(told in page for told in ("nobody needs that", "A. Buyer", "PASS"))


@NEEDS_HPL
def test_a_mix_of_jobs_is_handed_in_at_once(cluster, tmp_path):
    mix = ("mix", "--site", SITE, "--blocks", "2", "--scale", "small", "--no-report")
    subprocess.run([ASSAY, "run", *mix], cwd=tmp_path, capture_output=True, check=True)
    (run,) = tmp_path.glob("results/*/*/")
    records = [*read_records(run / "records.jsonl")]
    assert [one.status for one in records] == ["ok"] * 6
    # One was handed in before the one before had ended; a busy machine may be late with others.
    handed_in = sorted(records, key=lambda one: str(one.submitted_at))
    times = [(str(a.ended_at), str(b.submitted_at)) for a, b in pairwise(handed_in)]
    assert any(later < ended for ended, later in times), times
    mix = mix_of(open_run(str(run)))
    assert [job.work > 0 for job in mix.jobs] == [True] * 6
    assert min(mix.makespans_s.values()) > 0
