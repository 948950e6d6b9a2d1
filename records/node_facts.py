# SPDX-License-Identifier: Apache-2.0
"""What a node says of itself: hardware, firmware, kernel, network adapters, file systems.

None is what the node does not tell an ordinary user.
"""

from __future__ import annotations

import msgspec

from records.values import Count


class Nic(msgspec.Struct, frozen=True, kw_only=True):
    """A network adapter: `kind` is ethernet, infiniband (Omni-Path too) or cxi (Slingshot)."""

    kind: str | None = None
    state: str | None = None
    bits_per_second: Count | float | None = None
    mtu_bytes: Count | None = None
    driver: str | None = None
    firmware: str | None = None
    counters_readable: bool | None = None


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One node. `settings` are kernel settings by name; `file_systems` types by mount point."""

    processor: str | None = None
    sockets: Count | None = None
    cores: Count | None = None
    threads_per_core: Count | None = None
    numa_nodes: Count | None = None
    microcode: str | None = None
    product: str | None = None
    firmware: str | None = None
    kernel: str | None = None
    operating_system: str | None = None
    governor: str | None = None
    memory_bytes: Count | None = None
    settings: dict[str, str] = {}
    nics: dict[str, Nic] = {}
    gpus: list[str] = []
    file_systems: dict[str, str] = {}
