# SPDX-License-Identifier: Apache-2.0
"""Wheels made from installed packages, for tests that install without internet."""

import base64
import hashlib
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path


def repack(name: str, folder: Path) -> str:
    """Write the wheel of an installed package into `folder`; gives its line of a lock file."""
    found = Distribution.from_name(name)
    files = [file for file in found.files or [] if _belongs(str(file))]
    info = next(file.parent for file in files if file.name == "WHEEL")
    described = (found.read_text("WHEEL") or "").splitlines()
    tag = next(line.partition(": ")[2] for line in described if line.startswith("Tag: "))
    stem = info.name.removesuffix(".dist-info")
    wheel = folder / f"{stem}-{tag}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in files:
            content = Path(str(file.locate())).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{file},sha256={digest.decode()},{len(content)}")
            archive.writestr(str(file), content)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    digest_of_all = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name}=={found.version} --hash=sha256:{digest_of_all}\n"


def _belongs(file: str) -> bool:
    """Whether a file is the package's own, and not written by its installer."""
    ours = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
    return not (file.startswith("..") or "__pycache__" in file or file.endswith(ours))


def repack_all(folder: Path) -> str:
    """Write the wheels of all that is installed but Assay; gives the lock file's text."""
    names = {one.name for one in distributions()} - {"assay", "pip"}
    return "".join(repack(name, folder) for name in sorted(names))
