# SPDX-License-Identifier: Apache-2.0
"""A contract on a real cluster: a stage that is killed, one that is waived, a short period."""

import signal
import subprocess

from assay.tests.test_run_on_cluster import ASSAY, SITE, campaign, finish, wait_for_records
from assay.tests.test_run_on_cluster import of_full as pytestmark
from plugins.contract.log import open_contract

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
