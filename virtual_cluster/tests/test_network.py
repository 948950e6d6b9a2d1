# SPDX-License-Identifier: Apache-2.0
"""A shaped link counts frames as a wire does."""

import re
import subprocess

import pytest

from virtual_cluster import host
from virtual_cluster.namespaces import WIRE_LEAST_BYTES, WIRE_OVERHEAD_BYTES, _speed_lines
from virtual_cluster.spec import NETWORKS

#: Of a full Ethernet frame: what the kernel counts, and its room on the wire.
FRAME_BYTES, WIRE_BYTES = 1514, 8 + 1514 + 4 + 12


@pytest.mark.parametrize("name", [name for name, link in NETWORKS.items() if link.bits_per_s])
def test_the_bucket_holds_a_frame_with_its_room_on_the_wire_and_little_more(name: str) -> None:
    assert FRAME_BYTES + WIRE_OVERHEAD_BYTES == WIRE_BYTES
    assert WIRE_LEAST_BYTES == 8 + 60 + 4 + 12
    link = NETWORKS[name]
    (line,) = _speed_lines(link, ["eth0"])
    assert re.search(rf"burst {link.burst_bytes}b .* overhead 24 mpu 84$", line)
    assert WIRE_BYTES <= link.burst_bytes <= 5 * WIRE_BYTES


def test_tc_understands_the_lines_and_an_unlimited_link_is_not_shaped() -> None:
    assert _speed_lines(NETWORKS["unlimited"], ["eth0"]) == []
    line = _speed_lines(NETWORKS["gigabit"], ["no-such-device"])[0]
    answer = subprocess.run(
        [host.program("tc"), *line.split()], capture_output=True, text=True, check=False
    )
    assert "Cannot find device" in answer.stderr
