# SPDX-License-Identifier: Apache-2.0
"""A virtual cluster that looks like a certain site: several users, links, devices, daemons; as
common.yaml and NAME.yaml describe it. `setup/foreign-cluster COMMAND NAME …` runs it.

Its hosts see all of the cluster's folder as /cluster.
"""

import argparse
import os
import re
import secrets
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from stat import S_IFCHR
from typing import Any

import msgspec
import yaml
from ClusterShell.NodeSet import NodeSet

from records.errors import AssayError
from virtual_cluster import api, daemons, host, namespaces
from virtual_cluster.api import Additions, Cluster, Progress, silent, user_environment
from virtual_cluster.daemons import common_settings
from virtual_cluster.spec import NODE_PATTERN, ClusterSpec, address_plan
from virtual_cluster.state import State, folders

_HERE = Path(__file__).resolve().parents[1]
#: Where setup/unpacked.sh puts packages.
_UNPACKED = _HERE.parents[1] / "build" / "unpacked"
#: Device that files of generic resources are: that of /dev/null.
_NULL = os.makedev(1, 3)
USER_PATTERN = re.compile(r"[a-z][a-z0-9]{0,11}")
#: Id of the first user; the machine knows none of them.
_FIRST_USER = 61000
#: What a site mounts first, in the root of its hosts.
_MOUNTS = """\
mkdir home
mount --bind "$root/home" home
mount --bind "$root" cluster
mount --bind "$root/etc" etc/slurm
"""


@dataclass(frozen=True)
class LoginDaemon:
    """A further daemon of the login host, with commands to run before it starts and once it serves.

    `ready` is a command that succeeds when the daemon serves.
    """

    name: str
    argv: tuple[str, ...]
    ready: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    after: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class SiteSetup(Additions):
    """Files, links, devices, daemons and commands that make a cluster look like a certain site.

    Paths of `files`, `links` and `devices` are below the cluster's folder. In texts of files and in
    commands `{secret}` is a password of this cluster; a file with it is readable to root alone.
    """

    #: Cores of each node by its name, which is letters and digits.
    cores: dict[str, int]
    users: tuple[str, ...]
    #: Text of each file; etc/slurm.conf among them.
    files: dict[str, str]
    #: Host name of the login host.
    login: str = "login"
    network: str = "unlimited"
    #: Target of each symbolic link.
    links: dict[str, str] = field(default_factory=dict)
    #: Device number of each character device; 0 is a file that overlayfs hides.
    devices: dict[str, int] = field(default_factory=dict)
    #: Shell script that mounts further what hosts see, run in the folder that will be their root;
    #: $root is the cluster's folder.
    mounts: str = ""
    #: Daemons of the login host that slurmctld needs.
    daemons: tuple[LoginDaemon, ...] = ()
    #: Commands of root on the login host once all nodes take jobs.
    commands: tuple[tuple[str, ...], ...] = ()
    #: Further programs that this machine must have, each with its Debian package.
    programs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for pattern, names in ((NODE_PATTERN, self.cores), (USER_PATTERN, self.users)):
            if wrong := [name for name in names if not pattern.fullmatch(name)]:
                raise AssayError(f"{wrong[0]!r}: allowed are names such as {pattern.pattern}")

    def prepare(self, state: State) -> None:
        """Make homes, files, links and devices."""
        root = folders(state.spec.name).root
        root.chmod(0o755)
        paths = [*self.files, *self.links, *self.devices]
        for name in ("node", *(str(Path(name).parent) for name in paths)):
            (root / name).mkdir(parents=True, exist_ok=True)
        self._make_homes(root)
        secret = _secret(state)
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(16))
        for name, text in {"mounts": _MOUNTS + self.mounts, **self.files}.items():
            (root / name).touch()
            (root / name).chmod(0o600 if "{secret}" in text else 0o644)
            (root / name).write_text(text.replace("{secret}", secret.read_text()))
        for name, target in self.links.items():
            (root / name).symlink_to(target)
        for name, number in self.devices.items():
            os.mknod(root / name, (0o666 if number else 0o600) | S_IFCHR, number)

    def start_daemons(self, state: State) -> None:
        """Start the further daemons of the login host, with the commands that belong to each."""
        for daemon in self.daemons:
            run_commands(state, daemon.before)
            ready = partial(_succeeds, [*namespaces.enter(state, "login"), *daemon.ready])
            daemons.start_daemon(state, daemon.name, [], daemon.argv, ready)
            run_commands(state, daemon.after)

    def _make_homes(self, root: Path) -> None:
        """Make the users' homes, and let hosts know the users."""
        for uid, user in enumerate(self.users, _FIRST_USER):
            home = root / "home" / user
            home.mkdir(mode=0o700)
            os.chown(home, uid, uid)
            with (root / "etc/passwd").open("a") as passwd, (root / "etc/group").open("a") as group:
                passwd.write(f"{user}:x:{uid}:{uid}:{user}:/home/{user}:/bin/bash\n")
                group.write(f"{user}:x:{uid}:\n")


def up(name: str, setup: SiteSetup, progress: Progress = silent) -> Cluster:
    """Bring up a cluster that looks like a site."""
    host.require_programs(further=setup.programs)
    spec = ClusterSpec(
        name,
        len(setup.cores),
        network=setup.network,
        cores=setup.cores,
        login_host=setup.login,
        of_root=True,
    )
    cluster = api.up(spec, progress, setup)
    for command in setup.commands:
        host.run(cluster.admin_command(command))
    return cluster


def users(name: str) -> dict[str, Path]:
    """Home of each user of a cluster, as this machine sees it; hosts have it below /home."""
    return {home.name: home for home in sorted(folders(name).home.iterdir())}


def login_command(cluster: Cluster, user: str, argv: Sequence[str]) -> list[str]:
    """Command list that root runs as a user, in a login shell of the login host.

    It is killed when the thread that started it ends. What the terminal interrupts is the command.
    """
    homes = users(cluster.name)
    if user not in homes:
        raise AssayError(f"cluster {cluster.name} has no user {user!r}: {list(homes)}")
    uid = homes[user].stat().st_uid
    environment = user_environment(user, f"/home/{user}", "/usr/local/bin:/usr/bin:/bin")
    ends = "--pdeathsig=KILL"
    rights = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--init-groups", "--inh-caps=-all"]
    given = ["env", "-i", "--default-signal=INT", *(f"{k}={v}" for k, v in environment.items())]
    shell = ["bash", "-l", "-c", 'cd && exec "$@"', "bash", *argv]
    entered = cluster.admin_command([*rights, ends, "--", *given, *shell])
    return ["env", "--ignore-signal=INT", "setpriv", ends, "--", *entered]


def run_commands(state: State, commands: Iterable[Sequence[str]]) -> None:
    """Run commands of root on the login host, each to its end."""
    secret = _secret(state).read_text()
    for command in commands:
        enter = namespaces.enter(state, "login")
        host.run([*enter, *(word.replace("{secret}", secret) for word in command)])


def _secret(state: State) -> Path:
    return folders(state.spec.name).munge / "password"


def _succeeds(argv: Sequence[str]) -> bool:
    return host.run(argv, check=False).returncode == 0


def description(name: str) -> dict[str, Any]:
    """Both files of this cluster as one mapping, the values of the site filled in."""
    text = "\n".join((_HERE / f"{part}.yaml").read_text() for part in ("common", name))
    found = yaml.safe_load(text)
    values = {key: found[key] for key in ("account", "limit")}
    cores = {node: count for names, count in found["nodes"].items() for node in NodeSet(names)}
    values |= {"name": name, "address": address_plan([*cores])["login"]}
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", str(value))
    return {**yaml.safe_load(text), "cores": cores}


def described(name: str) -> SiteSetup:
    """The site of this name, on a machine with the programs of this one's /usr/bin."""
    found = description(name)
    programs = sorted(entry.name for entry in Path("/usr/bin").iterdir())
    devices = dict.fromkeys(found.get("devices", ()), _NULL)
    devices |= dict.fromkeys(found.get("hidden_files", ()), 0)
    devices |= {
        f"hidden/{program}": 0
        for program in programs
        if any(re.fullmatch(pattern, program) for pattern in found["hidden"])
    }
    files = found["files"] | found.get("site_files", {}) | unpacked(found) | module_files(found)
    files["etc/slurm.conf"] = slurm_conf(found)
    links = {
        f"opt/{module}/bin/{link}": f"/cluster/system/{program}"
        for module, family in found["modules"].items()
        for link, program in module_programs(found, family, programs).items()
    }
    for user in found["users"]:
        orders = [[word.replace("{user}", user) for word in order] for order in found["each_user"]]
        found["daemons"][-1]["after"] += orders
    begin = found.get("maintenance")
    return SiteSetup(
        cores=found["cores"],
        users=tuple(found["users"]),
        files=files,
        login=found["login"],
        network=found["network"],
        links=links,
        devices=devices,
        mounts=found["mounts"] + found["modules_mounts"],
        daemons=msgspec.convert(found["daemons"], tuple[LoginDaemon, ...]),
        commands=(maintenance(begin, "120", "yearly_service"),) if begin else (),
        programs=found["programs"],
    )


def unpacked(found: dict[str, Any]) -> dict[str, str]:
    """Text of the files of packages that the site has and this machine cannot have."""
    paths = [path for form in found.get("unpacked", ()) for path in sorted(_UNPACKED.glob(form))]
    if found.get("unpacked") and not paths:
        first = found["unpacked"][0]
        package = first.partition("/")[0]
        raise AssayError(f"{_UNPACKED}: {first} is not there; run setup/unpacked.sh {package}")
    files = [path for path in paths if path.is_file()]
    return {str(path.relative_to(_UNPACKED)): path.read_text() for path in files}


def module_files(found: dict[str, Any]) -> dict[str, str]:
    """Text of the site's module files: those of MPIs, and what `module_texts` says further."""
    head = "#%Module1.0\n" if found["module"].startswith("#%") else ""
    files = {name: f"{head}{text}\n" for name, text in found["module_texts"].items()}
    for module, family in found["modules"].items():
        variables = found["families"][family].get("variables", {}).items()
        lines = [found["variable"].format(key=key, value=value) for key, value in variables]
        text = "\n".join([found["module"], *lines, files.get(module, "").removeprefix(head)])
        text = text.replace("{module}", module.split("/")[0]).replace("{family}", family)
        files[module] = text.replace("{folder}", f"/cluster/opt/{module}")
    return {f"modules/{name}{found['module_ending']}": text for name, text in files.items()}


def slurm_conf(found: dict[str, Any]) -> str:
    """Text of slurm.conf: lines of the site replace those of the same key."""
    common = common_settings("root")
    lines = (common + found["files"]["etc/slurm.conf"]).splitlines()
    given = {line.partition("=")[0] for line in found["slurm.conf"].splitlines()}
    return "\n".join([*(s for s in lines if s.partition("=")[0] not in given), found["slurm.conf"]])


def module_programs(
    found: dict[str, Any], family: str, programs: Collection[str]
) -> dict[str, str]:
    """The links in a module's bin folder: name → program of /usr/bin."""
    own = re.compile(found["families"][family]["programs"])
    links = {one.removesuffix(f".{family}"): one for one in programs if one.endswith(f".{family}")}
    return links | {one: one for one in programs if own.fullmatch(one)}


def maintenance(begin: str, minutes: str, name: str) -> tuple[str, ...]:
    """Command of an administrator who reserves all nodes."""
    words = (f"ReservationName={name}", f"StartTime={begin}", f"Duration={minutes}", "Users=root")
    return ("scontrol", "create", "reservation", *words, "Nodes=ALL", "Flags=MAINT,IGNORE_JOBS")


_COMMANDS = {
    "up": "bring it up",
    "down": "take it down; nothing of it is left",
    "admin": "COMMAND …: as the site's administrator",
    "login": "USER [COMMAND …]: a login shell, or a command in one",
    "maintenance": "BEGIN MINUTES RESERVATION: reserve all nodes",
}


def _entered(cluster: Cluster, command: str, words: list[str]) -> list[str]:
    """The command that runs within the cluster."""
    if command == "login":
        user, *words = words or [""]
        return login_command(cluster, user, words or ["bash", "-l"])
    if command == "maintenance":
        words = list(maintenance(*words))
    return cluster.admin_command(words)


def main() -> int:
    """Run one command; gives the exit status."""
    parser = argparse.ArgumentParser(
        prog="foreign-cluster",
        description="A site for tests, described in NAME.yaml.",
        epilog=" · ".join(f"{name}: {text}" for name, text in _COMMANDS.items()),
    )
    parser.add_argument("command", choices=_COMMANDS)
    parser.add_argument("name")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    try:
        if arguments.command == "up":
            up(arguments.name, described(arguments.name), print)
        elif arguments.command == "down":
            api.down(arguments.name, print)
        else:
            words = arguments.words[arguments.words[:1] == ["--"] :]
            words = _entered(api.load(arguments.name), arguments.command, words)
            os.execvp(words[0], words)  # noqa: S606
    except AssayError as error:
        print(f"foreign-cluster: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
