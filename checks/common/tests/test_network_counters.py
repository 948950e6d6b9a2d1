# SPDX-License-Identifier: Apache-2.0
"""The bytes that came into a node, found in the files of each network's driver."""

import ctypes
from pathlib import Path

import pytest
import yaml

from checks.common.sources import LIBRARY
from checks.common.tests.program_runs import ran, require

TREES = yaml.safe_load(Path(__file__).with_name("network_counters.yaml").read_text())
SENT = 262144
WAYS = 3


class Arrivals(ctypes.Structure):
    """struct arrivals of evidence/arrivals.h."""

    _fields_ = [("bytes", ctypes.c_longlong * WAYS), ("blind", ctypes.c_uint)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    require("cc")
    built = tmp_path_factory.mktemp("arrivals") / "arrivals.so"
    sources = [str(LIBRARY / name) for name in ("evidence/arrivals.c", "assay/json.c")]
    flags = ["-std=c11", "-shared", "-fPIC", "-Wl,--unresolved-symbols=ignore-all"]
    ran(["cc", *flags, f"-I{LIBRARY}", "-o", built, *sources])
    loaded = ctypes.CDLL(str(built), mode=ctypes.RTLD_LOCAL | 1)
    loaded.arrivals_read.restype = Arrivals
    loaded.arrivals_since.restype = ctypes.c_long
    return loaded


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


@pytest.mark.parametrize("name", TREES)
def test_what_came_in_is_found(name, library, tmp_path):
    tree, root = TREES[name], ctypes.c_char_p(str(tmp_path).encode())
    write(tmp_path, tree["before"])
    before = library.arrivals_read(root)
    write(tmp_path, tree["after"])
    found = library.arrivals_since(root, ctypes.byref(before), ctypes.c_long(SENT))
    assert found == (-1 if tree["arrived"] is None else tree["arrived"])
