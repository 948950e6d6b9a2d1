# SPDX-License-Identifier: Apache-2.0
"""Networks, switches and links of a cluster.

A switch is a bridge. Bridges and links hang in the network of the login host, which is the
holder's: nothing of a cluster appears in the machine's own network, so addresses and ports of two
clusters cannot meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from virtual_cluster import spec as plans
from virtual_cluster.host import run
from virtual_cluster.namespaces import enter
from virtual_cluster.spec import TOP, LinkSpeed, Switch
from virtual_cluster.state import State, folders

NODE_DEVICE = "eth0"
#: Gives the network that it runs in a name.
_KEEP = ': >"$1"; mount --bind /proc/self/ns/net "$1"'
#: What Ethernet adds to the kernel's length of a frame: preamble 8, check sequence 4, gap 12 bytes;
#: and the room that its shortest frame takes.
WIRE_OVERHEAD_BYTES = 24
WIRE_LEAST_BYTES = 84


def make_network(state: State) -> None:
    """Make the networks of nodes, the switches, the links with their speed, and the addresses."""
    spec, addresses, networks = state.spec, state.addresses, folders(state.spec.name).networks
    for node in spec.node_names():
        words = ["unshare", "--net", "sh", "-c", _KEEP, "sh", str(networks / node)]
        run([*enter(state, "holder"), *words])
    lines = [line for s in spec.switch_tree() for line in _switch_lines(s, networks)]
    lines.append(f"addr add {addresses['login']}/{plans.PREFIX_LENGTH} dev {_bridge(TOP)}")
    _batch(state, "ip", lines)
    for node in spec.node_names():
        address = f"addr add {addresses[node]}/{plans.PREFIX_LENGTH} dev {NODE_DEVICE}"
        lines = ["link set lo up", address, f"link set {NODE_DEVICE} up"]
        _batch(state, "ip", lines, node)
    shape_links(state, [*spec.node_names(), *(s.name for s in spec.switch_tree() if s.above)])


def set_link(state: State, node: str, up: bool) -> None:
    """Plug a node's cable into its switch, or pull it out."""
    _batch(state, "ip", [f"link set {_port(node)} {'up' if up else 'down'}"])


def shape_links(state: State, places: Iterable[str], share: float = 1.0) -> None:
    """Give both ends of the links from these nodes and switches to the switches above them a share
    of the cluster's rate; nothing to do where it is unlimited."""
    link, nodes, ends = state.spec.link, set(state.spec.node_names()), list[str]()
    for place in places:
        if place in nodes:
            _batch(state, "tc", _speed_lines(link, [NODE_DEVICE], share), place)
        ends += [_port(place)] if place in nodes else _link_ends(place)
    _batch(state, "tc", _speed_lines(link, ends, share))


def _port(node: str) -> str:
    """The switch's end of a node's link."""
    return f"v-{node}"


def _bridge(switch: str) -> str:
    """The device of a switch."""
    return f"b-{switch}"


def _link_ends(switch: str) -> tuple[str, str]:
    """Both ends of the link from a switch up to the one above it."""
    return f"u-{switch}", f"d-{switch}"


def _switch_lines(switch: Switch, networks: Path) -> list[str]:
    """`ip` commands for a switch, its link to the one above, which exists, and its nodes' links."""
    bridge = _bridge(switch.name)
    lines = [f"link add {bridge} type bridge", f"link set {bridge} up"]
    if switch.above is not None:
        up, down = _link_ends(switch.name)
        lines += [
            f"link add {up} type veth peer name {down}",
            f"link set {up} master {bridge} up",
            f"link set {down} master {_bridge(switch.above)} up",
        ]
    for node in switch.nodes:
        lines += [
            f'link add {_port(node)} type veth peer name {NODE_DEVICE} netns "{networks / node}"',
            f"link set {_port(node)} master {bridge} up",
        ]
    return lines


def _speed_lines(link: LinkSpeed, devices: Sequence[str], share: float = 1.0) -> list[str]:
    """`tc` commands for a token bucket filter on each device; none on unlimited links.

    A frame counts as on a wire: with preamble, check sequence and gap, and at least WIRE_LEAST.
    """
    if link.bits_per_s is None:
        return []
    return [
        f"qdisc replace dev {device} root tbf rate {max(1000, round(link.bits_per_s * share))}bit "
        f"burst {link.burst_bytes}b limit {link.limit_bytes}b "
        f"overhead {WIRE_OVERHEAD_BYTES} mpu {WIRE_LEAST_BYTES}"
        for device in devices
    ]


def _batch(state: State, program: str, lines: list[str], node: str = "") -> None:
    """Run lines of `ip` or `tc` in the network of the login host, or of a node."""
    if lines:
        inside = ["nsenter", f"--net={folders(state.spec.name).networks / node}", "--"]
        words = [*enter(state, "holder"), *(inside if node else []), program, "-batch", "-"]
        run(words, stdin="\n".join(lines) + "\n")
