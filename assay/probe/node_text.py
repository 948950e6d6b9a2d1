# SPDX-License-Identifier: Apache-2.0
"""From what `facts.sh` prints on a node to its facts.

What is absent or odd in the text is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from records.site.node_facts import Nic, NodeFacts
from records.text.plain_text import one_line

#: Longest text of a fact.
_LONGEST = 200
_MOST_FILE_SYSTEMS = 100
#: File systems of the kernel itself, and what automounters and containers come and go with.
_PSEUDO = re.compile(
    r"(proc|sysfs|dev(tmpfs|pts)|cgroup2?|securityfs|debugfs|tracefs|configfs|pstore|bpf|mqueue"
    r"|hugetlbfs|autofs|binfmt_misc|rpc_pipefs|fusectl|efivarfs|selinuxfs|nsfs|nfsd|ramfs"
    r"|squashfs|fuse\.(gvfsd|portal|lxcfs).*)$"
)
#: Mount points of the system's own, which come and go.
_SYSTEM = re.compile(r"/(run|etc|sys|proc|snap|boot|var/lib)(/|$)")
#: Where a file system in memory matters to programs.
_IN_MEMORY = ("/", "/tmp", "/dev/shm", "/var/tmp", "/scratch")  # noqa: S108  not used here
_BITS = {"Gb/sec": 1e9, "Mb/sec": 1e6}
_STATE_WORD = re.compile(r"[A-Za-z_]+")
#: Drivers whose `speed` says nothing of a wire; virtual adapters have none that is told.
_NO_WIRE = {"", "veth", "bridge", "tun", "dummy", "ifb"}
#: Adapters of containers and virtual machines that a node hosts, and unused ones.
_HOSTED = re.compile(r"(docker|br-|virbr|veth|vnet|cali|cni|flannel|ifb|dummy|tun|tap|kube|lxc)")


def sections_of(text: str) -> dict[str, str]:
    """The sections of a text in which lines `== NAME` begin them."""
    parts = re.split(r"^== ([\w./-]+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def node_facts(text: str) -> NodeFacts:
    """The facts in what `facts.sh` printed."""
    found = {name: content.strip() for name, content in sections_of(text).items()}
    cpu = _pairs(found.get("lscpu", ""), ":")
    dmi = _pairs(found.get("dmi", ""), "=")
    memory = re.search(r"MemTotal:\s+(\d{1,15}) kB", found.get("memory", ""))
    sockets = _count(cpu.get("Socket(s)")) or 1
    per_socket = _count(cpu.get("Core(s) per socket"))
    return NodeFacts(
        processor=_text(cpu.get("Model name")),
        sockets=_count(cpu.get("Socket(s)")),
        cores=sockets * per_socket if per_socket else None,
        threads_per_core=_count(cpu.get("Thread(s) per core")),
        numa_nodes=_count(cpu.get("NUMA node(s)")),
        microcode=_text(found.get("cpuinfo", "").partition(":")[2]),
        product=_text(" ".join(dmi.get(name, "") for name in ("sys_vendor", "product_name"))),
        firmware=_text(
            " ".join(dmi.get(name, "") for name in ("bios_vendor", "bios_version", "bios_date"))
        ),
        kernel=_text(found.get("kernel")),
        operating_system=_text(found.get("os")),
        governor=_text(" ".join(found.get("governor", "").split())),
        memory_bytes=int(memory[1]) * 1024 if memory else None,
        settings=dict(_settings(found.get("settings", ""))),
        nics=dict(_nics(found.get("nics", ""))),
        gpus=[one_line(line)[:_LONGEST] for line in found.get("gpus", "").splitlines()][:64],
        file_systems=_file_systems(found.get("mounts", "")),
    )


def _pairs(text: str, sign: str) -> dict[str, str]:
    pairs = (line.partition(sign) for line in text.splitlines() if sign in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _text(found: str | None) -> str | None:
    """One line of ordinary length; None where nothing is said."""
    said = " ".join(one_line(found or "").split())[:_LONGEST]
    return said or None


def _count(found: str | None) -> int | None:
    return int(found) if found and re.fullmatch(r"[0-9]{1,9}", found) else None


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Of several choices the chosen one, which the kernel puts in brackets."""
    for name, value in _pairs(text, "=").items():
        chosen = re.search(r"\[(\w+)\]", value)
        said = _text(chosen[1] if chosen else value)
        if said and re.fullmatch(r"\w{1,40}", name):
            yield name, said


def _nics(text: str) -> Iterator[tuple[str, Nic]]:
    for block in re.split(r"^nic=", text, flags=re.MULTILINE)[1:]:
        head, _, rest = block.partition("\n")
        kind, _, name = head.partition(" ")
        told = _pairs(rest, "=")
        # IP over InfiniBand is recognised by its port.
        other = kind == "ethernet" and (told.get("type") != "1" or _HOSTED.match(name))
        if other or not re.fullmatch(r"[\w./:-]{1,60}", name):
            continue
        version = " ".join((told.get("driver", ""), told.get("driver_version", "")))
        words = _STATE_WORD.findall(told.get("state", ""))
        yield (
            name,
            Nic(
                kind=kind,
                # "4: ACTIVE" and "up" -> "active", "up"
                state=words[0].lower()[:20] if words else None,
                bits_per_second=_bits_per_second(kind, told),
                mtu_bytes=_count(told.get("mtu")),
                driver=_text(version),
                firmware=_text(told.get("firmware")),
                counters_readable=told.get("counters") == "yes",
            ),
        )


def _bits_per_second(kind: str, told: Mapping[str, str]) -> float | None:
    if kind == "ethernet":
        megabits = _count(told.get("megabits"))
        return megabits * 1e6 if megabits and told.get("driver") not in _NO_WIRE else None
    if kind == "infiniband":  # "100 Gb/sec (4X EDR)"
        number, unit, *_ = [*told.get("rate", "").split(), "", ""]
        if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", number) and unit in _BITS:
            return float(number) * _BITS[unit]
        return None
    gigabits = re.search(r"(\d{1,4})(?:G|\b)", told.get("speed", ""))  # "BS_200G"
    return int(gigabits[1]) * 1e9 if gigabits else None


def _file_systems(text: str) -> dict[str, str]:
    """Mount points in order, with the file system's type."""
    rows = (line.split() for line in text.splitlines())
    found = {
        row[1]: row[2]
        for row in rows
        if len(row) >= 4
        and not _PSEUDO.match(row[2])
        and not _SYSTEM.match(row[1])
        and (row[2] != "tmpfs" or row[1] in _IN_MEMORY)
        and len(row[1]) <= _LONGEST
    }
    first = sorted(found.items())[:_MOST_FILE_SYSTEMS]
    return {one_line(point): one_line(kind)[:40] for point, kind in first}
