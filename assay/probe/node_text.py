# SPDX-License-Identifier: Apache-2.0
"""Facts of a node read from the output of `facts.sh`; what is absent or odd there is None."""

import re
from collections import defaultdict
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


def sections_of(text: str) -> defaultdict[str, str]:
    """The sections of a text in which lines `== NAME` begin them; "" of those that lack."""
    parts = re.split(r"^== ([\w./-]+)\n", text, flags=re.MULTILINE)
    return defaultdict(str, zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))


def node_facts(text: str) -> NodeFacts:
    """The facts in the output of `facts.sh`."""
    sections = sections_of(text)
    cpu, dmi = _pairs(sections["lscpu"], ":"), _pairs(sections["dmi"], "=")
    memory = re.search(r"MemTotal:\s+(\d{1,15}) kB", sections["memory"])
    sockets, per_socket = _count(cpu.get("Socket(s)")), _count(cpu.get("Core(s) per socket"))

    def of_dmi(*names: str) -> str | None:
        return _text(" ".join(dmi.get(name, "") for name in names))

    return NodeFacts(
        processor=_text(cpu.get("Model name")),
        sockets=sockets,
        cores=(sockets or 1) * per_socket if per_socket else None,
        threads_per_core=_count(cpu.get("Thread(s) per core")),
        numa_nodes=_count(cpu.get("NUMA node(s)")),
        microcode=_text(sections["cpuinfo"].partition(":")[2]),
        product=of_dmi("sys_vendor", "product_name"),
        firmware=of_dmi("bios_vendor", "bios_version", "bios_date"),
        kernel=_text(sections["kernel"]),
        operating_system=_text(sections["os"]),
        governor=_text(sections["governor"]),
        memory_bytes=int(memory[1]) * 1024 if memory else None,
        settings=dict(_settings(sections["settings"])),
        nics=dict(_nics(sections["nics"])),
        gpus=[one_line(line)[:_LONGEST] for line in sections["gpus"].splitlines()][:64],
        file_systems=_file_systems(sections["mounts"]),
    )


def _pairs(text: str, sign: str) -> dict[str, str]:
    pairs = (line.partition(sign) for line in text.splitlines() if sign in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _text(content: str | None) -> str | None:
    """Content on one line of ordinary length; None where there is nothing."""
    return " ".join(one_line(content or "").split())[:_LONGEST] or None


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else None


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Of several choices the chosen one, which the kernel puts in brackets."""
    for name, value in _pairs(text, "=").items():
        chosen = re.search(r"\[(\w+)\]", value)
        setting = _text(chosen[1] if chosen else value)
        if setting and re.fullmatch(r"\w{1,40}", name):
            yield name, setting


def _nics(text: str) -> Iterator[tuple[str, Nic]]:
    for block in re.split(r"^nic=", text, flags=re.MULTILINE)[1:]:
        head, _, rest = block.partition("\n")
        kind, _, name = head.partition(" ")
        stated = _pairs(rest, "=")
        # IP over InfiniBand is recognised by its port.
        other = kind == "ethernet" and (stated.get("type") != "1" or _HOSTED.match(name))
        if other or not re.fullmatch(r"[\w./:-]{1,60}", name):
            continue
        state = _STATE_WORD.search(stated.get("state", ""))  # "4: ACTIVE", "up"
        yield (
            name,
            Nic(
                kind=kind,
                state=state[0].lower()[:20] if state else None,
                bits_per_second=_bits_per_second(kind, stated),
                mtu_bytes=_count(stated.get("mtu")),
                driver=_text(f"{stated.get('driver', '')} {stated.get('driver_version', '')}"),
                firmware=_text(stated.get("firmware")),
                counters_readable=stated.get("counters") == "yes",
            ),
        )


def _bits_per_second(kind: str, stated: Mapping[str, str]) -> float | None:
    if kind == "ethernet":
        megabits = _count(stated.get("megabits"))
        return megabits * 1e6 if megabits and stated.get("driver") not in _NO_WIRE else None
    if kind == "infiniband":
        rate = re.match(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ([GM]b/sec)\b", stated.get("rate", ""))
        return float(rate[1]) * _BITS[rate[2]] if rate else None  # "100 Gb/sec (4X EDR)"
    gigabits = re.search(r"(\d{1,4})(?:G|\b)", stated.get("speed", ""))  # "BS_200G"
    return int(gigabits[1]) * 1e9 if gigabits else None


def _file_systems(text: str) -> dict[str, str]:
    """Mount points in order, with the file system's type."""
    kinds = {
        row[1]: row[2]
        for row in map(str.split, text.splitlines())
        if len(row) >= 4
        and not _PSEUDO.match(row[2])
        and not _SYSTEM.match(row[1])
        and (row[2] != "tmpfs" or row[1] in _IN_MEMORY)
        and len(row[1]) <= _LONGEST
    }
    first = sorted(kinds.items())[:_MOST_FILE_SYSTEMS]
    return {one_line(point): one_line(kind)[:40] for point, kind in first}
