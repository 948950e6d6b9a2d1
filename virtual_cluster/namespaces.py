# SPDX-License-Identifier: Apache-2.0
"""The namespaces and networks of a cluster, and the words that make and enter them.

A, the holder's user namespace, has the caller as uid 0 and owns networks, mounts and processes: all
that is administered is done there. B, below it, has the same caller as uid 1000, `assay`, without
any right on A: daemons, sessions and jobs run there. The holder is process 1 of A: with it ends all
that lives in the cluster.

Hosts have a root of their own, whose tree the holder keeps: what is bound there appears in all of
them. They have a /tmp of their own: what is below it is bound at another place of the tree, and
from there in each host, also in a node that is started later. A cluster `of_root` has neither A nor
B, and all of it but its users' is root's.

A switch is a bridge. Bridges and links hang in the network of the login host, which is the
holder's: nothing of a cluster appears in the machine's own network, so addresses and ports of two
clusters cannot meet.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from records.errors import AssayError
from virtual_cluster import spec as plans
from virtual_cluster.host import program, run
from virtual_cluster.images import MACHINE
from virtual_cluster.spec import TOP, LinkSpeed, Switch
from virtual_cluster.state import State, folders, locked_state

_HERE = Path(__file__).resolve().parent
#: Shell functions that bind folders.
FUNCTIONS = _HERE / "binding.sh"
#: A PID namespace that ends with the process which made it.
_PIDS = ("--pid", "--fork", "--kill-child")
_UNSHARE = ("unshare", "--mount", "--propagation=slave")
#: Folders in which a host has a file system of its own.
OWN = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_ALL = ("--mount", "--net", "--uts", "--ipc", "--pid")


def holder(state: State) -> list[str]:
    """Command list of the holder, for host.start."""
    where = folders(state.spec.name)
    user = [] if state.spec.of_root else ["--user", "--map-root-user"]
    spaces = [*user, "--mount", "--propagation=private", "--net", "--uts", "--ipc", *_PIDS]
    words = [where.view, where.root, state.spec.login_host]
    words += [state.tree] if state.tree != MACHINE else []
    return ["unshare", *spaces, "sh", str(_HERE / "holder.sh"), *map(str, words)]


def enter(state: State, name: str) -> list[str]:
    """The words before a command of the administrator in the namespaces of "holder", "login" or a
    node."""
    user = [] if state.spec.of_root else ["--user", "--preserve-credentials"]
    return ["nsenter", f"--target={state.processes[name].pid}", *user, *_ALL, "--"]


def to_user(state: State) -> list[str]:
    """The words that follow where the cluster's user runs the command, without any right on A."""
    words = ["nsenter", "--user=/run/user", "--preserve-credentials", "--"]
    return [] if state.spec.of_root else words


def daemon(state: State, own: Sequence[str], argv: Sequence[str]) -> list[str]:
    """Command list, for host.start behind `enter` of the holder, of a daemon of the login host
    which alone may write to these folders of the cluster. Users of the login host do not see it."""
    where = folders(state.spec.name).root
    writable = [word for name in own for word in (str(where / name), f"/cluster/{name}")]
    dressed = _dressed(state, state.spec.login_host, [], writable)
    return [*_UNSHARE, *dressed, *to_user(state), *argv]


def administrator(argv: Sequence[str]) -> list[str]:
    """Command list, for host.start behind `enter` of the holder, of a program of this machine
    which sees all processes of the cluster."""
    seen = '. "$0"; mount -t proc proc /proc; ready; exec "$@"'
    return ["unshare", "--mount", "sh", "-c", seen, str(_HERE / "gate.sh"), *argv]


def login(state: State) -> list[str]:
    """Command list, for host.start behind `enter` of the holder, of the login host. It shares
    the network of the holder."""
    dressed = _dressed(state, state.spec.login_host, OWN, [])
    return [*_UNSHARE, *_PIDS, *dressed, "sh", "-c", "sleep infinity & wait $!"]


def node(state: State, name: str, argv: Sequence[str]) -> list[str]:
    """Command list, for host.start behind `enter` of the holder, of process 1 of a node, which
    has its network, its cores and file systems in memory, and runs `argv`."""
    spec = state.spec
    own = OWN if spec.isolated else OWN[:2]
    spaces = [*_UNSHARE, "--uts", *(["--ipc", *_PIDS] if spec.isolated else [])]
    spaces += ["taskset", "-c", ",".join(map(str, state.cores[name]))]
    writable = [str(folders(spec.name).root / "nodes" / name), "/cluster/node"]
    network = ["nsenter", f"--net={folders(spec.name).networks / name}", "--"]
    return [*network, *spaces, *_dressed(state, name, own, writable), *argv]


def _dressed(state: State, name: str, own: Sequence[str], writable: Sequence[str]) -> list[str]:
    """The words before a command that give it the view of a host."""
    where = folders(state.spec.name)
    bound = [(place, path) for path, (place, _) in state.shown.items() if place]
    shown = [word for pair in bound for word in pair]
    words = [name, str(where.view), " ".join(own), *writable, "--", *shown, "--"]
    return ["sh", str(_HERE / "host.sh"), *words]


#: What hosts have anyhow, of the machine or of the image; /opt only of the machine.
SEEN = ("/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys", "/dev")
#: In the holder: ASIDE SOURCE TARGET. A folder is read-only in hosts if it is so when it is bound.
_BIND = """\
. "$1"
aside=$2 source=$3 target=$4
! mountpoint -q "$target" || umount -l "$target"
mkdir -p "$target"
bind_read_only "$source" "$aside"
mount --rbind "$aside" "$target"
umount -l "$aside"
"""
_BIND_AGAIN = """\
! mountpoint -q "$2" || umount -l "$2"
mkdir -p "$2"
mount --rbind "/run/shown/$1" "$2"
"""


def show(state: State, wanted: Iterable[Path]) -> None:
    """Show folders, also under the paths of links to them; those that are not there are left out.

    Raises AssayError for a folder that holds the cluster's own.
    """
    paths = {path for one in wanted for path in (one.absolute(), one.resolve()) if one.is_dir()}
    seen = SEEN if state.tree != MACHINE else (*SEEN, "/opt")
    hidden = [path for path in sorted(paths) if not any(map(path.is_relative_to, seen))]
    asked = {str(path): _entry(path) for path in hidden if not paths & {*path.parents}}
    if asked.items() <= state.shown.items():
        return
    above = folders(state.spec.name).root
    for path in asked:
        if above.is_relative_to(path):
            raise AssayError(
                f"{path} cannot be shown to jobs: the cluster {state.spec.name} lies in it; move"
                " what they read to a folder of its own"
            )
    with locked_state(state.spec.name) as now:
        for path, entry in asked.items():
            if now.shown.get(path) != entry:
                now.shown[path] = entry
                _show(now, path, entry[0])
        now.save()


def _show(state: State, path: str, place: str) -> None:
    where = folders(state.spec.name)
    target = f"{where.view}/run/shown/{place}" if place else f"{where.view}{path}"
    words = map(str, [FUNCTIONS, where.root / "aside", path, target])
    run([*enter(state, "holder"), "sh", "-e", "-c", _BIND, "sh", *words])
    for name in ("login", *state.spec.node_names()):
        if place and state.runs(name):
            run([*enter(state, name), "sh", "-e", "-c", _BIND_AGAIN, "sh", place, path])


def _entry(path: Path) -> tuple[str, str]:
    """Its name below /run/shown where hosts have a folder of their own above it, and what tells it
    from a later one of the same path."""
    found, own = path.stat(), any(path.is_relative_to(one) for one in OWN)
    place = hashlib.sha256(str(path).encode()).hexdigest()[:16] if own else ""
    return place, f"{found.st_dev}:{found.st_ino}"


#: The steps, each named before it is tried.
_STEPS = """\
echo processes; mount -t proc proc /proc
echo network; LIBMOUNT_FORCE_MOUNT2=always mount -t sysfs -o ro,nosuid,nodev,noexec sysfs /sys
echo links
[ -z "$*" ] || { "$@" link add b0 type bridge; "$@" link add v0 type veth peer name v1; }
echo user; unshare --user --map-user=1000 --map-group=1000 true
"""
_SPACES = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_LIMITS = ("user", "mnt", "net", "pid", "uts", "ipc")


def refusal(tree: str = MACHINE, *, site: bool = False) -> str:
    """Why no virtual cluster can be made here, with what helps; "" where one can. Links are tried
    by the program of this image, where it is there.

    A cluster that looks like a `site` needs no user namespace, but root.
    """
    if site and os.geteuid() != 0:
        return "a cluster of several users needs root; run this as root"
    user = [] if site else ["--user", "--map-root-user"]
    ip = ["chroot", tree, "ip"] if program("ip", tree) != "ip" else []
    done = run(["unshare", *user, *_SPACES, "sh", "-e", "-c", _STEPS, "sh", *ip], check=False)
    if done.returncode == 0:
        return ""
    printed = (done.stderr.strip() or f"status {done.returncode}").splitlines()[0]
    return f"{_remedy((done.stdout.split() or [''])[-1], printed)} ({printed})"


#: What helps, by what refuses.
_MASKS = (
    "this container hides parts of /proc or /sys, so that nodes cannot have their own; start it"
    " with --security-opt systempaths=unconfined (Docker) or --security-opt unmask=ALL (Podman), or"
    " run assay outside of it"
)
_LIMIT = (
    "the kernel gives no further namespaces; run, as root: sysctl -w user.max_{}_namespaces=10000"
)
_RESTRICTED = (
    "AppArmor refuses namespaces to ordinary users here (Ubuntu 23.10 and later); run once: sudo"
    " sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or call assay as root"
)
_REFUSED = (
    "a container, a seccomp filter or the kernel refuses namespaces here; start the container with"
    " --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or run assay outside"
    " of it; on a machine of your own run, as root: sysctl -w kernel.unprivileged_userns_clone=1;"
    " modprobe -a bridge veth"
)


def _remedy(step: str, printed: str) -> str:
    """Sentence of what helps where a step failed and printed this."""
    restricted = os.geteuid() != 0 and _number(_APPARMOR) == 1
    if step in ("processes", "network") and not restricted:
        return _MASKS
    full = [name for name in _LIMITS if _number(Path(f"/proc/sys/user/max_{name}_namespaces")) == 0]
    if full or "No space left" in printed:
        return _LIMIT.format([*full, "user"][0])
    return _RESTRICTED if restricted else _REFUSED


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


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
    lines = [line for s in spec.switch_tree() for line in _switch_lines(s)]
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


def _switch_lines(switch: Switch) -> list[str]:
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
            f"link add {_port(node)} type veth peer name {NODE_DEVICE} netns /run/networks/{node}",
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


def _batch(state: State, name: str, lines: list[str], node: str = "") -> None:
    """Run lines of `ip` or `tc` in the network of the login host, or of a node."""
    if lines:
        where = folders(state.spec.name)
        inside = ["nsenter", f"--net={where.networks / node}", "--"] if node else []
        words = [*enter(state, "holder"), *inside, "chroot", str(where.view), name, "-batch", "-"]
        run(words, stdin="\n".join(lines) + "\n")
