# SPDX-License-Identifier: Apache-2.0
"""Python of an image: the packages that sessions import in it, and the words that run a module."""

import hashlib
import re
import subprocess
import sys
import sysconfig
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from records.errors import InfrastructureError
from virtual_cluster.images import ROOT, Image, Progress, alone, folder_beside, images_folder

#: What a session of ReFrame imports, with what that needs.
_OF_SESSIONS = ("ReFrame-HPC", "msgspec", "numpy", "pydantic", "pyyaml")
#: Large, and needed by ReFrame where it stores results, which sessions do not.
_NOT_OF_SESSIONS = ("polars",)
#: Runs the module that the first argument names, with those that follow.
_RUN = "import runpy; runpy.run_module(sys.argv.pop(1), None, '__main__', True)"


def session_packages(image: Image, say: Progress) -> Path | None:
    """The folder of Python packages that sessions import in the image, laid out by pip unless it is
    there, in the versions that Assay itself runs with; None for this machine's own Python."""
    if (version := image.python) is None:
        return None
    pins, lock = _pins(), ROOT / "requirements.lock"
    text = "\n".join(pins)
    if lock.is_file():  # with their hashes
        entries = re.split(r"^(?=\S)", lock.read_text(), flags=re.MULTILINE)
        text = "".join(entry for entry in entries if entry.partition(" ")[0].strip() in pins)
    own = "" if "/" not in image.name else hashlib.sha256(image.name.encode()).hexdigest()[:12]
    above = images_folder() / f"folder-{own}" if own else image.tree.parent
    digest = hashlib.sha256(f"{version} {text}".encode()).hexdigest()[:12]
    folder = above / f"python-{digest}"
    with alone(folder):
        if folder.is_dir():
            return folder
        say(f"image {image.name}: Python packages of sessions for its Python {version}")
        with folder_beside(folder) as part:
            (part / "requirements.txt").write_text(text)
            words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
            words += ["--disable-pip-version-check", "--only-binary=:all:", "--target", str(part)]
            words += ["--python-version", version, "-r", str(part / "requirements.txt")]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                raise InfrastructureError(
                    f"image {image.name}: pip could not lay out the Python packages of sessions:"
                    f" {done.stderr.strip()[-500:]}. On a machine without internet: assay image"
                    " load, with a file of assay image save"
                )
    return folder


def python_words(packages: str | None, module: str) -> list[str]:
    """The words that run a module of Assay: in an interpreter that imports from where this one does
    (None), or in an image's Python with these `session_packages`. There what else is installed here
    follows, for what is Python alone."""
    if packages is None:
        begin = f"import sys; sys.path[:] = {sys.path}"
        return [sys.executable, "-P", "-c", f"{begin}; {_RUN}", module]
    library = sysconfig.get_path("stdlib")
    here = [path for path in sys.path if not path.startswith(library) and path[-4:] != ".zip"]
    ours = [str(ROOT), *here]
    begin = f"import site, sys; sys.path[:0] = {[packages]}; [*map(site.addsitedir, {ours})]"
    cache = "-Xpycache_prefix=/tmp/pycache"  # where these are, hosts cannot write
    return ["/usr/bin/python3", "-P", cache, "-c", f"{begin}; {_RUN}", module]


def _pins() -> list[str]:
    """NAME==VERSION of what sessions import and what that needs, as installed here."""
    seen, to_come = dict[str, str](), list(_OF_SESSIONS)
    while to_come:
        name = to_come.pop()
        with suppress(metadata.PackageNotFoundError):
            here = metadata.distribution(name)
            plain = re.sub(r"[-_.]+", "-", here.name).lower()
            if plain not in {*seen, *_NOT_OF_SESSIONS}:
                seen[plain] = here.version
                needed = (one for one in here.requires or () if "extra ==" not in one)
                to_come += [re.split(r"[^A-Za-z0-9._-]", one, maxsplit=1)[0] for one in needed]
    return [f"{name}=={version}" for name, version in sorted(seen.items())]
