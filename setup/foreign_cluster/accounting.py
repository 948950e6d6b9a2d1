# SPDX-License-Identifier: Apache-2.0
"""MariaDB, slurmdbd, and the accounts in them."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from setup.foreign_cluster import texts
from setup.foreign_cluster.spec import read_line
from setup.foreign_cluster.state import State
from virtual_cluster import host

Start = Callable[[State, str, list[str], Callable[[], bool]], None]
#: Nothing of it outlives a power cut, nor need it.
_FAST = ("--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--skip-log-bin")


def start(state: State, start_daemon: Start) -> None:
    """Start MariaDB and slurmdbd; make cluster, account, users, QOS and limits."""
    root = state.root
    data, socket = root / "mariadb", root / "mariadb.socket"
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"]
    host.run([*install, "--auth-root-authentication-method=normal", "--skip-test-db"])
    server = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--user=root"]
    server += ["--bind-address=127.0.0.1", "--skip-name-resolve", f"--pid-file={data}/pid", *_FAST]
    start_daemon(state, "mariadbd", server, lambda: "1" in _sql(state, "select 1", check=False))
    password = secrets.token_hex(16)
    _sql(state, f"create user slurm@'127.0.0.1' identified by '{password}'")
    _sql(state, "grant all on slurm_acct_db.* to slurm@'127.0.0.1'")
    conf = root / "etc" / "slurmdbd.conf"
    conf.touch(mode=0o600)
    conf.write_text(texts.slurmdbd_conf(root, password))
    start_daemon(state, "slurmdbd", ["slurmdbd", "-D"], lambda: _answers(state))
    _make_accounts(state)


def _sql(state: State, statement: str, check: bool = True) -> str:
    client = ["mariadb", "--no-defaults", f"--socket={state.root / 'mariadb.socket'}", "-Nse"]
    return host.run([*client, statement], check=check).stdout


def _answers(state: State) -> bool:
    return "root" in state.admin("sacctmgr", "-nP", "show", "user", check=False)


def _make_accounts(state: State) -> None:
    spec = state.spec

    def change(*words: str) -> None:
        state.admin("sacctmgr", "-i", *words)

    change("add", "cluster", spec.name)
    change("add", "account", spec.account, "Description=science", "Organization=science")
    names = ["normal"]
    for line in map(read_line, spec.qos):
        pairs = [f"{key}={value}" for key, value in line.settings.items()]
        if line.name not in names:
            change("add", "qos", line.name)
            names.append(line.name)
        if pairs:
            change("modify", "qos", line.name, "set", *pairs)
    for user in spec.users:
        name = spec.account_of(user)
        change("add", "user", name, f"Account={spec.account}", f"QOS={','.join(names)}")
        if spec.limits:
            change("modify", "user", name, "set", *spec.limits)
