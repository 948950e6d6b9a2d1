# SPDX-License-Identifier: Apache-2.0
"""Spack as it is used here: where it is, the lock of its home, the configuration of every command,
and a command: output into a log, progress as plain lines, a failure explained in one message."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from assay import ROOT, setup_command
from assay.commands import login_environment
from assay.sites.description import SpackDescription
from assay.sites.site_file import CLONES, HOME, site_file, spack_home
from assay.terminal import Say, say
from records.errors import AssayError, InfrastructureError

#: Environments, platforms and recipes.
SPACK_ENV = ROOT / "spack-env"
#: The source mirror inside the Spack home; Spack's own layout, named by checksums.
MIRROR = "mirror"
#: Recipes of ours that every environment has; an environment may name more in `recipes`.
_OUR_RECIPES = "assay"
_PUBLIC_PACKAGES = "https://github.com/spack/spack-packages.git"
#: Variables of the caller that Spack needs to fetch sources.
_INTERNET = re.compile(r"(?i:(https?|ftp|all|no)_proxy)|SSL_CERT_\w+|CURL_CA_BUNDLE")
#: Environment variable with a checkout of Spack's package repository.
PACKAGES = "ASSAY_SPACK_PACKAGES"
#: The Spack and the package repository that were tested.
SPACK_RELEASE, PACKAGES_RELEASE = "v1.1.0", "v2025.11.0"
#: Lock of a Spack home. It ends with the process that holds it, however that ends.
_LOCK = ".lock"
#: Lines of Spack's output that show its progress.
_PROGRESS = re.compile(
    r"^==> (Installing \S+ \[\d+/\d+\]|\S+: Successfully installed.*|\S+: Executing phase:.*"
    r"|Concretized .*|Fetching .*|\S+ : externally installed.*)"
)
_SHORT = re.compile(r"(-[a-z0-9]{32})( \[\d+/\d+\])?")
_HASH = re.compile(r"-[a-z0-9]{32}\b")
#: What Spack prints, what it means, and the error that it is. The first match counts.
_KNOWN: tuple[tuple[str, str, type[AssayError]], ...] = (
    (
        r"No space left on device|Disk quota exceeded",
        f"the disk is full below {{home}}; make room, or name another place with {HOME}",
        InfrastructureError,
    ),
    (
        r"sha256 checksum failed for (?P<what>\S+)",
        "{what} has not the checksum that its recipe states; it was not used. Fill the source"
        " mirror anew: assay build --mirror distribution",
        InfrastructureError,
    ),
    (
        r"All fetchers failed for (?:resource |spack-stage-)?(?P<what>\S+)",
        "no source for {what}: neither the mirror {home}/mirror nor the recipe's own place gave it."
        " Fill the mirror: assay build --mirror distribution",
        InfrastructureError,
    ),
    (
        r"Skipping build of \S+ since (?P<what>\S+) failed",
        "{what} could not be built; the log ends with its reason",
        InfrastructureError,
    ),
    (
        r"(?i)Error: (?P<what>.*(?:cannot match any known version|cannot satisfy|unsatisfiable"
        r"|failed to concretize|has no version that satisfies|not buildable)[^\n]*)",
        "Spack cannot resolve it: {what}. See compilers, externals and target in the site's"
        " packages.yaml and in the platform's",
        AssayError,
    ),
)


@dataclass(frozen=True)
class Spack:
    """A Spack to start, the package repository it shall read, and where it builds."""

    executable: Path
    packages: Path | None
    home: Path

    def variables(self) -> dict[str, str]:
        """The environment of every Spack command: a login shell's, and the way to the internet."""
        return {
            **{name: text for name, text in login_environment().items() if name[:6] != "SPACK_"},
            **{name: os.environ[name] for name in os.environ if _INTERNET.fullmatch(name)},
            "SPACK_DISABLE_LOCAL_CONFIG": "1",
            "SPACK_USER_CACHE_PATH": str(self.home / "cache"),
            "SPACK_USER_CONFIG_PATH": str(self.home / "config"),
            "SPACK_PYTHON": sys.executable,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def command(self, *words: str) -> list[str]:
        """The command line of one Spack command in our own configuration."""
        return [str(self.executable), "--color", "never", "-C", str(self.home / "scope"), *words]


def find_spack() -> Spack:
    """Spack at SPACK_ROOT, on PATH, or where `make spack` puts it. Raises InfrastructureError when
    there is none."""
    named, on_path = os.environ.get("SPACK_ROOT"), shutil.which("spack")
    places = [Path(named) / "bin" / "spack"] if named else []
    places += [Path(on_path)] if on_path else []
    for place in [*places, CLONES / "spack" / "bin" / "spack"]:
        if os.access(place, os.X_OK):
            return Spack(place, _packages(), spack_home())
    raise InfrastructureError(
        f"no Spack found (SPACK_ROOT is {named or 'not set'}; none on PATH, none in"
        f" {CLONES / 'spack'}). Set SPACK_ROOT to a Spack {SPACK_RELEASE} or run:"
        f" {setup_command('spack')}"
    )


def _packages() -> Path | None:
    """The builtin package repository's checkout; None: Spack fetches its own."""
    named = os.environ.get(PACKAGES)
    for place in [*([Path(named)] if named else []), CLONES / "packages"]:
        repository = place / "repos" / "spack_repo" / "builtin"
        if (repository / "repo.yaml").is_file():
            return repository
    if named is not None:
        raise InfrastructureError(
            f"{PACKAGES}={named}: no repos/spack_repo/builtin/repo.yaml there; give a checkout"
            f" of Spack's package repository, release {PACKAGES_RELEASE}"
        )
    return None


def write_scope(spack: Spack, site: str, built: SpackDescription, offline: bool) -> Path:
    """Write the configuration folder below the Spack home, anew. `offline`: sources come from the
    mirror only. Raises AssayError for an unknown platform."""
    home, scope = spack.home, spack.home / "scope"
    shutil.rmtree(scope, ignore_errors=True)
    scope.mkdir(parents=True)
    ours = {name: str(SPACK_ENV / "spack_repo" / name) for name in [_OUR_RECIPES, *built.recipes]}
    public: Any = {"git": _PUBLIC_PACKAGES, "tag": PACKAGES_RELEASE}
    places = {
        "install_tree": {"root": str(home / "install")},
        "build_stage": [str(home / "stage")],
        "source_cache": str(home / "sources"),
        "misc_cache": str(home / "cache" / "misc"),
        "test_stage": str(home / "test"),
    }
    mirror = {"url": str(home / MIRROR), "source": True, "binary": False}
    # Spack's sign for "replaces what is said elsewhere" is a doubled colon.
    content: dict[str, Any] = {
        "config": places,
        "repos:": {**ours, "builtin": str(spack.packages) if spack.packages else public},
        "mirrors:" if offline else "mirrors": {"assay": mirror},
        "bootstrap": {"root": str(home / "bootstrap")},
        "modules": {"default": {"enable": []}},
        "include": [str(path) for path in packages_files(site, built)],
    }
    for section, stated in content.items():
        text = yaml.safe_dump({section: stated}, sort_keys=False)
        text = re.sub(r"^'(\w+):':", r"\1::", text)
        (scope / f"{section.rstrip(':')}.yaml").write_text(text)
    return scope


def packages_files(site: str, built: SpackDescription) -> list[Path]:
    """The site's own packages.yaml before the platform's: what is named first wins."""
    platform = SPACK_ENV / "platforms" / built.platform / "packages.yaml"
    if not platform.is_file():
        known = sorted(path.parent.name for path in SPACK_ENV.glob("platforms/*/packages.yaml"))
        raise AssayError(
            f"site {site}: spack.platform {built.platform!r}: allowed is {', '.join(known)}, or a"
            f" new folder spack-env/platforms/<name>/ with a packages.yaml"
        )
    own = site_file(site).with_name("packages.yaml")
    return [path for path in (own, platform) if path.is_file()]


@contextmanager
def locked(home: Path, *, shared: bool = False) -> Iterator[None]:
    """Change a Spack home alone, or use what it holds together with others. Raises
    InfrastructureError while another build or run keeps from it, and where it cannot be written."""
    lock, kind = home / _LOCK, fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        home.mkdir(parents=True, exist_ok=True)
        reads = shared and lock.exists()
        descriptor = os.open(lock, os.O_RDONLY if reads else os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise InfrastructureError(
            f"{error.filename}: {error.strerror}; correct the rights, or name another place with"
            f" {HOME}"
        ) from error
    with os.fdopen(descriptor):
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = "a build" if shared else "another build, or a run on its libraries,"
            raise InfrastructureError(
                f"{home}: {other} is under way in this Spack home; wait for its end, or name"
                f" another place with {HOME}"
            ) from error
        yield


def say_with_time(line: str) -> None:
    """Print a line of progress with the time of day."""
    say(f"{time.strftime('%H:%M:%S')} {line}", hang=9)


class SpackCommands:
    """Spack commands in one environment."""

    def __init__(self, spack: Spack, environment: Path, say: Say) -> None:
        self.spack, self.environment, self.say = spack, environment, say
        self.logs = spack.home / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def run(self, doing: str, *words: str) -> str:
        """Run `spack -e ENVIRONMENT WORDS…`; gives what it printed. Raises AssayError or
        InfrastructureError that says why it failed."""
        log = self.logs / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{words[0].replace(' ', '-')}.log"
        began = time.monotonic()
        self.say(f"{doing} (log: {log})")
        try:
            spack = self.spack.command("-e", str(self.environment), *words)
            # It ends with this process, even when that is killed.
            text, status = self._follow(["setpriv", "--pdeathsig", "KILL", *spack], log)
        except OSError as error:
            raise InfrastructureError(f"{doing}: {error.strerror or error} ({log})") from error
        if status != 0:
            # A wrong archive stays in the stage and would be used again.
            if words[0] == "fetch":
                shutil.rmtree(self.spack.home / "stage", ignore_errors=True)
            raise explained(doing, text, log, self.spack.home)
        self.say(f"{doing}: {time.monotonic() - began:.0f} s")
        return text

    def _follow(self, argv: list[str], log: Path) -> tuple[str, int]:
        lines = list[str]()
        with (
            log.open("w") as kept,
            subprocess.Popen(
                argv,
                env=self.spack.variables(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                kept.flush()
                lines.append(line)
                if shown := _PROGRESS.match(line):
                    doing = _SHORT.sub(r"\2", shown[1])
                    self.say(f"  {doing}")
        return "".join(lines), process.returncode


def explained(doing: str, text: str, log: Path, home: Path) -> AssayError:
    """The error to raise when Spack failed at `doing`, having printed `text`, kept in `log`."""
    for pattern, meaning, kind in _KNOWN:
        if match := re.search(pattern, text):
            what = _HASH.sub("", (match.groupdict().get("what") or "").split("/")[-1])
            message = meaning.format(what=what.strip(" .'\""), home=home)
            return kind(f"{doing}: {message} (log: {log})")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    shown = errors[0] if errors else (lines or ["Spack printed nothing"])[-1]
    return InfrastructureError(f"{doing}: {shown[:300]} (log: {log})")
