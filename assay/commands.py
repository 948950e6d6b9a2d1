# SPDX-License-Identifier: Apache-2.0
"""Commands of this machine: what they print, within a time limit, with pauses meanwhile; and the
environment in which commands and jobs of a site begin: what its system gives a login shell.

Nothing of the caller's own shell is in it: no modules, no paths, no settings of MPI libraries. So
what works in one shell works in every other one, and from cron.
"""

import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from checks.common.slurm.commands import Answer
from records import waiting
from records.errors import InfrastructureError

#: Characters that are kept of what a command prints.
KEPT_CHARACTERS = 1 << 24
#: Seconds after which pauses are made while a command runs, and their length.
_PAUSED_AFTER_S, _PAUSE_S = 0.5, 0.1

Pause = Callable[[float], None]


def output_of(
    argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """The standard output of a command, stripped; "" where the program is not installed."""
    return run_command(argv, os.environ if env is None else env, cwd=cwd).stdout.strip()


def run_command(
    argv: Sequence[str],
    environment: Mapping[str, str],
    given: bytes = b"",
    limit_s: float | None = None,
    *,
    called: str | None = None,
    pause: Pause = time.sleep,
    cwd: Path | None = Path("/"),
) -> Answer:
    """Run a command with this environment and standard input; gives what it prints.

    It has neither the caller's terminal nor its standard input. Its status is 127 where there is no
    such program. Raises InfrastructureError, naming it as `called`, when it does not end in
    `limit_s` (None: COMMAND_S, scaled). While it runs, `pause` is called again and again; an error
    of it ends the command.
    """
    limit_s = waiting.scaled(waiting.COMMAND_S) if limit_s is None else limit_s
    try:
        # All of it is there from the beginning: `communicate` that is called again sends no more.
        with os.fdopen(os.memfd_create("given"), "r+b") as standard_input:
            standard_input.write(given)
            standard_input.seek(0)
            process = subprocess.Popen(
                argv,
                env=environment,
                cwd=cwd,
                stdin=standard_input if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # out of reach of the terminal's signals
            )
    except OSError as error:
        return Answer(127, "", f"{argv[0]}: {error.strerror}")
    with process:
        try:
            texts = _texts(process, limit_s, pause)
        except subprocess.TimeoutExpired as error:
            process.kill()
            called = called or " ".join(argv)[:100]
            raise InfrastructureError(f"{called} did not answer within {limit_s:.0f} s") from error
        except BaseException:
            process.kill()
            raise
    out, err = (text[:KEPT_CHARACTERS].decode(errors="replace") for text in texts)
    return Answer(process.returncode, out, err)


def _texts(process: subprocess.Popen[bytes], limit_s: float, pause: Pause) -> tuple[bytes, bytes]:
    """Output of the process until it ends. Raises TimeoutExpired when it does not in time."""
    until = time.monotonic() + limit_s
    while True:
        left_s = max(0.0, until - time.monotonic())
        try:
            return process.communicate(timeout=min(left_s, _PAUSED_AFTER_S))
        except subprocess.TimeoutExpired:
            if left_s <= _PAUSED_AFTER_S:
                raise
        pause(_PAUSE_S)


#: What login shells read: sites set default modules, Slurm's and scratch folders there.
PROFILE = "/etc/profile"
#: Where programs are looked for before PROFILE says so.
PATH = "/usr/local/bin:/usr/bin:/bin"
#: Variables of the caller that say where its files are, which Slurm and what time it uses.
_OF_CALLER = ("HOME", "SLURM_CONF", "TZ")
#: What a shell says of itself.
_OF_SHELL = {"_", "OLDPWD", "PWD", "SHLVL"}


def login_environment() -> dict[str, str]:
    """Variables, and functions such as `module`, of a login shell of the system.

    Where its PATH lacks Slurm's commands, the folder in which the caller's shell has them follows.
    Raises InfrastructureError where PROFILE does not end.
    """
    own = {"PATH": PATH}
    with suppress(KeyError):
        user = pwd.getpwuid(os.getuid())
        own |= {"LOGNAME": user.pw_name, "USER": user.pw_name}
        own |= {"HOME": user.pw_dir, "SHELL": user.pw_shell}
    own |= {name: os.environ[name] for name in _OF_CALLER if os.environ.get(name)}
    found = dict(_given(PROFILE, tuple(own.items())))
    slurm = shutil.which("sbatch")
    if slurm and not shutil.which("sbatch", path=found["PATH"]):
        found["PATH"] += f":{os.path.dirname(slurm)}"  # noqa: PTH120  as PATH has it
    return found


def loaded_modules(variables: Mapping[str, str]) -> list[str]:
    """Modules that are loaded in a shell with these variables, in the order of loading."""
    return [name for name in variables.get("LOADEDMODULES", "").split(":") if name]


def modules_of_caller() -> list[str]:
    """Modules that are loaded in the caller's shell and not in a login shell."""
    at_login = loaded_modules(login_environment())
    return [name for name in loaded_modules(os.environ) if name not in at_login]


@cache
def libraries_of_python() -> dict[str, str]:
    """The caller's LD_LIBRARY_PATH where this interpreter, of a module, does not start without."""
    name = "LD_LIBRARY_PATH"
    if name not in os.environ or run_command([sys.executable, "-c", ""], {}).status == 0:
        return {}
    return {name: os.environ[name]}


def python_folders() -> list[Path]:
    """Folders of the interpreter and its packages, and every link on the way to it."""
    found, link = [Path(sys.prefix), Path(sys.base_prefix)], Path(sys.executable)
    while link.is_symlink():
        link = Path(os.path.normpath(link.parent / link.readlink()))
        found.append(link.parent)
    return [folder for folder in found if not folder.is_relative_to("/usr")]


@cache
def _given(profile: str, own: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    script = 'exec 3>&1; trap "env -0 >&3" EXIT; . "$1" >/dev/null 2>&1'
    shell = ["bash", "--noprofile", "--norc", "-c", script, "bash", profile]
    answer = run_command(shell, dict(own), called=profile)
    pairs = (entry.partition("=") for entry in answer.stdout.split("\0") if "=" in entry)
    return dict(own) | {name: value for name, _, value in pairs if name not in _OF_SHELL}
