# SPDX-License-Identifier: Apache-2.0
"""The command line refuses what cannot work, with one message and the right exit status."""

import pytest

from virtual_cluster import host, namespaces
from virtual_cluster.command import _split_words, main


def test_missing_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(namespaces, "refusal", lambda **_: "")
    missing = {"munged": "munge", "slurmd": "slurm-wlm"}
    monkeypatch.setattr(host, "missing_programs", lambda _: missing)
    assert main(["up", "--name", "t-none"]) == 4
    assert "apt-get install -y munge slurm-wlm" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "--nodes", "0"], "--nodes 0: allowed are"),
        (["up", "--nodes", "501"], "from 1 to 500"),
        (["up", "--network", "infiniband"], "allowed are unlimited, gigabit, fast-ethernet"),
        (["up", "--cpus-per-node", "-1"], "--cpus-per-node -1: allowed are"),
        *(([command, "--name", "../x"], "allowed are") for command in ("up", "down", "revive")),
        *(([command, "--name", "a b"], "allowed are") for command in ("status", "shell")),
    ],
)
def test_bad_values_exit_with_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_a_first_word_like_n2_is_a_place() -> None:
    assert _split_words([]) == ("login", [])
    assert _split_words(["n2"]) == ("n2", [])
    assert _split_words(["n2", "ps", "ax"]) == ("n2", ["ps", "ax"])
    assert _split_words(["login", "n2"]) == ("login", ["n2"])
    assert _split_words(["srun", "hostname"]) == ("login", ["srun", "hostname"])
