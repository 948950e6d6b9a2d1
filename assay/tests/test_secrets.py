# SPDX-License-Identifier: Apache-2.0
"""No secret of a site leaves its run: not with a report, a document, an export or a page."""

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

import polars
import pytest
from pypdf import PdfReader

from assay.cli import main
from assay.tests.rewritten_runs import rewritten
from assay.tests.test_accept_every_campaign import stored_run
from records.text.plain_text import WITHHELD, masked

#: What sites, people and programs write, each with one secret in the place of {}.
VARIABLES = {
    "SITE_TOKEN": "{}",
    "DB_PASSWORD": "two words {}",
    "LICENSE_PW": "{}",
    "LIC_SERVER": "https://me:{}@licences.example.org/",
    "MAIL_AUTH": "{}",
    "UCX_EXTRA": "tls,password={}",
    "REGISTRY": "https://{}@registry.example.org",
    "HTTP_HEADER": "Authorization: Basic {}",
}
LINES = (
    "curl -s -u user:{} https://example.org/env",
    "wget --password={} https://example.org/x",
    "export lic_pw={}",
    "export my_token={} other=1",
    "login_pw='{}'",
    "tool --api-key {}",
    "curl -H 'Authorization: Bearer {}' https://example.org/",
    "git clone https://bob:{}@example.org/r.git",
    "curl https://example.org/?access_token={}&x=1",
    'echo \'{{"password": "{}"}}\' >key.json',
)
SECRETS = [f"Sq7-{number}vX" for number in range(len(VARIABLES) + len(LINES))]
OF_VARIABLES = {
    name: text.format(secret)
    for (name, text), secret in zip(VARIABLES.items(), SECRETS, strict=False)
}
OF_LINES = [
    line.format(secret) for line, secret in zip(LINES, SECRETS[len(VARIABLES) :], strict=True)
]
#: Secrets of a shape of their own: a token, keys that were drawn.
SHAPED = (
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "AKIAIOSFODNN7EXAMPLE",
    "hf_abcdefghijklmnopqrst",
)
OF_LINES += [f"get --with {one}" for one in SHAPED]
PLANTED = [*SECRETS, *SHAPED]
IN_SCRIPT = [*OF_LINES, *(f'export {name}="{value}"' for name, value in OF_VARIABLES.items())]
ELSEWHERE = "/home/somebody/sources/assay-of-mine"


def texts_of(path: Path) -> Iterator[str]:
    """What a file holds, decoded."""
    yield path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".parquet":
        frame = polars.read_parquet(path)
        yield repr([frame.columns, *frame.rows()])
    if path.suffix == ".pdf":
        yield "".join(page.extract_text().replace("\n", "") for page in PdfReader(path).pages)


def assert_without(secrets: Iterable[str], files: Iterable[Path]) -> None:
    found = [
        f"{path}: {secret}"
        for path in files
        for text in texts_of(path)
        for secret in secrets
        if secret in text or secret in unquote(text)
    ]
    assert not found, "\n".join(found)


def written_about(run: Path, folder: Path) -> list[Path]:
    """All that commands write of a run, and all of the folder that is not private."""
    for words in (
        "accept {run} --criteria standard",
        "report {run}",
        "report {run} --pictures pictures",
        "compare {run} {run} --html compared.html",
        "export {run} --output export.txt",
        "nightly add {run}",
        "nightly check",
        "export --output history.txt",
    ):
        assert main(words.format(run=run).split()) in (0, 1, 3), words
    private = {run / "raw", run / "campaign.yaml", folder / "sites"}
    files = [path for path in folder.rglob("*") if path.is_file()]
    files = [path for path in files if not private & {path, *path.parents}]
    assert {path.suffix for path in files} >= {
        *(".html", ".csv", ".parquet", ".xml", ".json", ".md", ".svg", ".sqlite", ".txt")
    }
    return files


#: Lines with a secret of one more shape each.
OTHERS = [
    *(f'export {name}="Sq9-vX"' for name in ("WIFI_PSK", "LICENSEKEY", "DB_PASS")),
    "curl -su me:Sq9-vX https://example.org/",
    'curl -H "X-Auth-Key: Sq9-vX" https://example.org/',
    "tool --pass=Sq9-vX",
]


@pytest.mark.parametrize(
    "line",
    [
        '#SBATCH --job-name="rfm_L0000000_startup_976be360_b1"',
        "#SBATCH --comment=assay-20261124T115700Z-b895-a083c1",
        'export OMP_NUM_THREADS="1"',
        'export I_MPI_PIN="1"',
        'export FI_OPX_BYPASS="1"',
        'export LIBRARY="/opt/openmpi-4.1.4/lib/libmpi.so.40.30.4"',
        'export KEYBOARD="us"',
        "basic subroutines: residual 1e-3 above 16.0\nsha256 9f86d081884c7d659a2feaa0c55ad015",
        "module load gcc/12.2.0 openmpi@4.1.4",
        "srun -n 2 --ntasks-per-node=1 --mpi=pmi2 -u ./program",
    ],
)
def test_what_is_no_secret_stays(line):
    assert masked(line) == line


@pytest.mark.parametrize("line", [*IN_SCRIPT, *OTHERS])
def test_a_secret_is_withheld_and_what_is_withheld_stays_so(line):
    (secret,) = (one for one in (*PLANTED, "Sq9-vX") if one in line)
    shown = masked(line)
    assert secret not in shown
    assert WITHHELD in shown
    assert masked(shown) == shown


@pytest.mark.full
def test_a_stored_run_is_reported_without_its_secrets(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = stored_run("nightly", tmp_path / "stored")
    said = " | ".join([*OF_LINES, *SHAPED])

    def planted(name: str, content: bytes) -> bytes:
        if name.endswith(".sh"):
            first, _, rest = content.decode().partition("\n")
            source = f"./run -I{ELSEWHERE}/checks/common/src {ELSEWHERE}/results/{run_id}/x"
            return "\n".join([first, *IN_SCRIPT, rest, source, ""]).encode()
        more = f"\nenvironment: {said}\n" * (3 if name.endswith(".err") else 400)
        return more.encode() + content

    def failing(record):
        if record["block"] == 2:
            told = [*OF_LINES[: len(LINES)], SHAPED[0], f"{ELSEWHERE}/results/{run_id}/x"]
            record |= {"status": "failed", "reason": "; ".join(told), "metrics": []}
        return record

    run_id = "20261123T180547Z-b4ef"
    rewritten(run, failing, planted)
    files = {*written_about(run, tmp_path)} - {run / "records.jsonl"}  # spoilt above
    assert_without([*PLANTED, ELSEWHERE], files)
    said = "".join(capsys.readouterr())
    assert not [one for one in (*PLANTED, ELSEWHERE) if one in said]
    pages = [*(run / "report" / "raw").iterdir()]
    assert all(WITHHELD in page.read_text() for page in pages)
    modes = {stat.S_IMODE(page.stat().st_mode) for page in (pages[0].parent, *pages)}
    assert modes == {0o700, 0o600}
