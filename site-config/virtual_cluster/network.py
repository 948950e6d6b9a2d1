# SPDX-License-Identifier: Apache-2.0
"""Network namespaces and links of a cluster.

The bridge and the links hang inside the login namespace: nothing of a cluster appears in the
machine's own network, so addresses and ports of two clusters cannot meet.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from virtual_cluster import spec as plans
from virtual_cluster.host import run
from virtual_cluster.spec import ClusterSpec, Network

NAMESPACES = Path("/run/netns")
BRIDGE = "br0"
NODE_DEVICE = "eth0"


def namespace_file(namespace: str) -> Path:
    """Where a network namespace of this name is mounted."""
    return NAMESPACES / namespace


def namespaces_of(cluster: str) -> list[str]:
    """Names of the network namespaces that belong to the cluster, as far as they exist."""
    if not NAMESPACES.is_dir():
        return []
    names = (entry.name for entry in NAMESPACES.iterdir())
    return sorted(name for name in names if plans.is_namespace_of(cluster, name))


def make_network(spec: ClusterSpec, addresses: dict[str, str]) -> None:
    """Make the namespaces, the bridge, one link a node with its speed, and the addresses."""
    login = plans.login_namespace(spec.name)
    for namespace in [login, *(plans.node_namespace(spec.name, n) for n in spec.node_names())]:
        run(["ip", "netns", "add", namespace])
    _batch("ip", login, _bridge_lines(spec, addresses["login"]))
    for node in spec.node_names():
        namespace = plans.node_namespace(spec.name, node)
        _batch("ip", namespace, _node_lines(addresses[node]))
        _batch("tc", namespace, _speed_lines(spec.link, [NODE_DEVICE]))
    _batch("tc", login, _speed_lines(spec.link, [_port(node) for node in spec.node_names()]))


def set_link(cluster: str, node: str, up: bool) -> None:
    """Plug a node's cable into the bridge, or pull it out."""
    login = plans.login_namespace(cluster)
    run(["ip", "-n", login, "link", "set", _port(node), "up" if up else "down"])


def shape_link(spec: ClusterSpec, node: str, link: Network) -> None:
    """Give both ends of a node's link the rate of `link`; nothing to do where it is unlimited."""
    if link.bits_per_s is None:
        return
    ends = (
        (plans.node_namespace(spec.name, node), NODE_DEVICE),
        (plans.login_namespace(spec.name), _port(node)),
    )
    for namespace, device in ends:
        _batch("tc", namespace, _speed_lines(link, [device], verb="replace"))


def remove_namespace(namespace: str) -> None:
    """Remove a network namespace with all links in it; also the bare file a reboot leaves."""
    run(["ip", "netns", "del", namespace], check=False)
    namespace_file(namespace).unlink(missing_ok=True)


def _port(node: str) -> str:
    """The bridge's end of a node's link."""
    return f"v-{node}"


def _bridge_lines(spec: ClusterSpec, address: str) -> list[str]:
    lines = [
        "link set lo up",
        f"link add {BRIDGE} type bridge",
        f"addr add {address}/{plans.PREFIX_LENGTH} dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ]
    for node in spec.node_names():
        namespace = plans.node_namespace(spec.name, node)
        lines += [
            f"link add {_port(node)} type veth peer name {NODE_DEVICE} netns {namespace}",
            f"link set {_port(node)} master {BRIDGE} up",
        ]
    return lines


def _node_lines(address: str) -> list[str]:
    return [
        "link set lo up",
        f"addr add {address}/{plans.PREFIX_LENGTH} dev {NODE_DEVICE}",
        f"link set {NODE_DEVICE} up",
    ]


def _speed_lines(link: Network, devices: list[str], verb: str = "add") -> list[str]:
    """One token bucket filter a device; none on unlimited links."""
    if link.bits_per_s is None:
        return []
    return [
        f"qdisc {verb} dev {device} root tbf rate {link.bits_per_s}bit "
        f"burst {link.burst_bytes}b limit {link.limit_bytes}b"
        for device in devices
    ]


def _batch(program: str, namespace: str, lines: list[str]) -> None:
    if lines:
        run([program, "-n", namespace, "-batch", "-"], stdin="\n".join(lines) + "\n")


def namespace_folder_exists() -> bool:
    """Whether the machine already has the folder that `ip netns` mounts namespaces in."""
    return NAMESPACES.exists()


def drop_namespace_folder() -> None:
    """Remove the folder `ip netns` made, if it is empty. Only for who found it absent before."""
    if NAMESPACES.is_dir() and not any(NAMESPACES.iterdir()):
        run(["umount", str(NAMESPACES)], check=False)
        with suppress(OSError):
            NAMESPACES.rmdir()
