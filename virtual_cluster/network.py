# SPDX-License-Identifier: Apache-2.0
"""Network namespaces, switches and links of a cluster.

A switch is a bridge. Bridges and links hang inside the login namespace: nothing of a cluster
appears in the machine's own network, so addresses and ports of two clusters cannot meet.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from virtual_cluster import spec as plans
from virtual_cluster.host import run
from virtual_cluster.spec import ClusterSpec, LinkSpeed
from virtual_cluster.switches import TOP, Switch

NAMESPACES = Path("/run/netns")
NODE_DEVICE = "eth0"
#: What Ethernet adds to the kernel's length of a frame: preamble 8, check sequence 4, gap 12 bytes;
#: and the room that its shortest frame takes.
WIRE_OVERHEAD_BYTES = 24
WIRE_LEAST_BYTES = 84


def namespace_file(cluster: str, host: str = "login") -> Path:
    """Where the network namespace of a node, or of the login environment, is mounted."""
    return NAMESPACES / plans.namespace_of(cluster, host)


def enter_login(cluster: str) -> list[str]:
    """The words before a command that root runs in the login namespace."""
    return ["nsenter", f"--net={namespace_file(cluster)}"]


def namespaces_of(cluster: str) -> list[Path]:
    """Where the existing network namespaces of the cluster are mounted."""
    found = NAMESPACES.iterdir() if NAMESPACES.is_dir() else []
    return sorted(file for file in found if plans.is_namespace_of(cluster, file.name))


def make_network(spec: ClusterSpec, addresses: dict[str, str]) -> None:
    """Make the namespaces, the switches, the links with their speed, and the addresses."""
    login = plans.namespace_of(spec.name)
    for host in ("login", *spec.node_names()):
        run(["ip", "netns", "add", plans.namespace_of(spec.name, host)])
    lines = [line for switch in spec.switch_tree() for line in _switch_lines(spec.name, switch)]
    lines.append(f"addr add {addresses['login']}/{plans.PREFIX_LENGTH} dev {_bridge(TOP)}")
    _batch("ip", login, ["link set lo up", *lines])
    for node in spec.node_names():
        namespace = plans.namespace_of(spec.name, node)
        address = f"addr add {addresses[node]}/{plans.PREFIX_LENGTH} dev {NODE_DEVICE}"
        _batch("ip", namespace, ["link set lo up", address, f"link set {NODE_DEVICE} up"])
        _batch("tc", namespace, _speed_lines(spec.link, [NODE_DEVICE]))
    between = [end for s in spec.switch_tree() if s.above for end in _link_ends(s)]
    ports = [_port(node) for node in spec.node_names()]
    _batch("tc", login, _speed_lines(spec.link, [*ports, *between]))


def set_link(cluster: str, node: str, up: bool) -> None:
    """Plug a node's cable into its switch, or pull it out."""
    login = plans.namespace_of(cluster)
    run(["ip", "-n", login, "link", "set", _port(node), "up" if up else "down"])


def shape_link(spec: ClusterSpec, node: str, link: LinkSpeed) -> None:
    """Give both ends of a node's link the rate of `link`; nothing to do where it is unlimited."""
    if link.bits_per_s is None:
        return
    ends = (
        (plans.namespace_of(spec.name, node), NODE_DEVICE),
        (plans.namespace_of(spec.name), _port(node)),
    )
    for namespace, device in ends:
        _batch("tc", namespace, _speed_lines(link, [device], verb="replace"))


def shape_uplink(spec: ClusterSpec, switch: Switch, link: LinkSpeed) -> None:
    """Give both ends of the link from a switch to the one above it the rate of `link`."""
    lines = _speed_lines(link, list(_link_ends(switch)), verb="replace")
    _batch("tc", plans.namespace_of(spec.name), lines)


def remove_namespace(file: Path) -> None:
    """Remove a network namespace with all links in it, or the file that a reboot left of it."""
    run(["ip", "netns", "del", file.name], check=False)
    file.unlink(missing_ok=True)


def _port(node: str) -> str:
    """The switch's end of a node's link."""
    return f"v-{node}"


def _bridge(switch: str) -> str:
    """The device of a switch."""
    return f"b-{switch}"


def _link_ends(switch: Switch) -> tuple[str, str]:
    """Both ends of the link from a switch up to the one above it."""
    return f"u-{switch.name}", f"d-{switch.name}"


def _switch_lines(cluster: str, switch: Switch) -> list[str]:
    """`ip` commands for a switch, its link to the one above, which exists, and its nodes' links."""
    bridge = _bridge(switch.name)
    lines = [f"link add {bridge} type bridge", f"link set {bridge} up"]
    if switch.above is not None:
        up, down = _link_ends(switch)
        lines += [
            f"link add {up} type veth peer name {down}",
            f"link set {up} master {bridge} up",
            f"link set {down} master {_bridge(switch.above)} up",
        ]
    for node in switch.nodes:
        namespace = plans.namespace_of(cluster, node)
        lines += [
            f"link add {_port(node)} type veth peer name {NODE_DEVICE} netns {namespace}",
            f"link set {_port(node)} master {bridge} up",
        ]
    return lines


def _speed_lines(link: LinkSpeed, devices: list[str], verb: str = "add") -> list[str]:
    """`tc` commands for a token bucket filter on each device; none on unlimited links.

    A frame counts as on a wire: with preamble, check sequence and gap, and at least WIRE_LEAST.
    """
    if link.bits_per_s is None:
        return []
    return [
        f"qdisc {verb} dev {device} root tbf rate {link.bits_per_s}bit "
        f"burst {link.burst_bytes}b limit {link.limit_bytes}b "
        f"overhead {WIRE_OVERHEAD_BYTES} mpu {WIRE_LEAST_BYTES}"
        for device in devices
    ]


def _batch(program: str, namespace: str, lines: list[str]) -> None:
    if lines:
        run([program, "-n", namespace, "-batch", "-"], stdin="\n".join(lines) + "\n")


def drop_namespace_folder() -> None:
    """Remove the folder that `ip netns` made, if it is empty."""
    if NAMESPACES.is_dir() and not any(NAMESPACES.iterdir()):
        run(["umount", str(NAMESPACES)], check=False)
        with suppress(OSError):
            NAMESPACES.rmdir()
