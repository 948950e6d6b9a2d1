# SPDX-License-Identifier: Apache-2.0
"""`setup/packages.sh` asks for what is missing and the release of Debian has."""

import subprocess
from pathlib import Path

import pytest

LIST = "gcc cc  # the compiler\nmpich\npvm? pvm\npvm-dev? aimk\n"
PROGRAMS = {
    "dpkg-query": """[ "$1" = --version ] || [[ " $INSTALLED " != *" $3 "* ]] ||
        printf %s "install ok installed" """,
    "apt-cache": '[[ " $IN_RELEASE " != *" $2 "* ]] || echo "$2 | 3.4 | here"',
    "id": "echo 1000",
}


@pytest.fixture
def told(tmp_path):
    """Status and words of an ordinary user's packages.sh, who can install nothing."""
    for name in ("packages.sh", "hpl-source.sh"):
        (tmp_path / "setup").mkdir(exist_ok=True)
        text = "#!/bin/sh\n" if name == "hpl-source.sh" else Path("setup", name).read_text()
        (tmp_path / "setup" / name).write_text(text)
        (tmp_path / "setup" / name).chmod(0o755)
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "setup/packages.txt").write_text(LIST)

    def run(installed, in_release):
        variables = {"INSTALLED": installed, "IN_RELEASE": in_release}
        done = subprocess.run(
            [tmp_path / "setup/packages.sh"],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_what_a_release_has_not_is_left_out_where_it_is_optional(told):
    status, out, error = told("gcc", "gcc mpich")
    assert status == 4
    assert "apt-get install mpich. To" in error
    assert out == "setup: left out, as this release of Debian has none: pvm pvm-dev\n"
    assert "apt-get install mpich pvm pvm-dev. To" in told("gcc", "gcc mpich pvm pvm-dev")[2]
    assert "apt-get install mpich. To" in told("gcc pvm pvm-dev", "gcc")[2]


def test_nothing_is_asked_for_where_only_what_the_release_lacks_is_missing(told):
    status, out, error = told("gcc mpich", "gcc mpich")
    assert (status, error) == (0, "")
    assert out.endswith(": pvm pvm-dev\n")
    assert told("gcc mpich pvm pvm-dev", "") == (0, "", "")
