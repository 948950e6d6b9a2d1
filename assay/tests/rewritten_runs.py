# SPDX-License-Identifier: Apache-2.0
"""Stored runs written again with other contents: raw output, checksums, chain and seal agree, as
if an Assay had written them so."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from records.run.archive import ArchiveWriter, Packed
from records.run.chain import SEAL, Chain, chain_of, write_seal
from records.run.record import CHECKSUM

Record = dict[str, Any]


def rewritten(
    run: Path,
    record: Callable[[Record], Record] = lambda record: record,
    member: Callable[[str, bytes], bytes] = lambda _, content: content,
) -> Path:
    """Change the records of a run and the members of its archives, by their names."""
    digests = {}
    for archive in sorted((run / "raw").glob("b*.zip")):
        with ZipFile(archive) as held:
            contents = {name: member(name, held.read(name)) for name in held.namelist()}
        archive.unlink()
        writer = ArchiveWriter(archive, lambda _: True)
        writer.append([Packed(name, [content]) for name, content in contents.items()])
        writer.close()
        for name, content in contents.items():
            digests[f"raw/{archive.name}/{name}"] = hashlib.sha256(content).hexdigest()
    records = [json.loads(line) for line in (run / "records.jsonl").read_bytes().splitlines()]
    (run / SEAL).unlink(missing_ok=True)
    chain, lines = Chain.of(run), []
    for one in map(record, records):
        for kind, path in list(one["artifacts"].items()):
            if path in digests:
                one["artifacts"][f"{kind}{CHECKSUM}"] = digests[path]
        one["chain"] = chain.head
        lines.append(json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode())
        assert chain.follow(lines[-1:], [chain.head]) is None
    (run / "records.jsonl").write_bytes(b"\n".join([*lines, b""]))
    write_seal(run, chain_of(run))
    return run
