# SPDX-License-Identifier: Apache-2.0
"""The folder of vettings, which all nodes see: records, the reference, the history, the drains.

records/NODE/ID.json   a file a vetting, written whole by the node
reference.json         what nodes judge by; made from the history
history.sqlite         each vetting as a night of its own (SQLite, written on one host only)
drains.jsonl           what was drained and resumed
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from records.files import force_to_disk, write_whole
from records.forms import as_bytes
from records.history.model import History, Night, NightValues, SeriesKey
from records.history.reading import read_history
from records.history.store import Store
from records.site.node_facts import facts_by_value
from records.vetting import METRICS, Reference, Vetting, vetting_of

#: Site and campaign of the vettings in their history.
SITE, CAMPAIGN = "nodes", "vet"
#: Records that are in the history are kept as files for so many days.
_KEPT_DAYS = 30
_REFERENCE = msgspec.json.Decoder(Reference)


def utc_text(at: datetime) -> str:
    """A moment as records have it."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class VetFolder:
    """The folder of vettings of a site."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def record_path(self, vetting: Vetting) -> Path:
        """Where the record of a vetting is."""
        return self.path / "records" / vetting.node / f"{vetting.id}.json"

    def reference(self) -> Reference | None:
        """The reference; None where there is none. Raises OSError or MsgspecError for damage."""
        try:
            return _REFERENCE.decode((self.path / "reference.json").read_bytes())
        except FileNotFoundError:
            return None

    def keep(self, vetting: Vetting) -> None:
        """Write a record. Until it is complete it has no name, so a kill leaves no file; where the
        file system has no such files (NFS) another name is renamed. Raises OSError."""
        path, content = self.record_path(vetting), as_bytes(vetting)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY, 0o644)
        except OSError:
            write_whole(path, content)
            return
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            # With src_dir_fd it is linkat(AT_SYMLINK_FOLLOW), which this needs.
            os.link(f"/proc/self/fd/{file.fileno()}", path, src_dir_fd=file.fileno())
        force_to_disk(path.parent)

    def vettings(self, known: frozenset[str] = frozenset()) -> Iterator[Vetting]:
        """The records but those that are `known`, in order of time; damaged ones are left out, and
        what a killed writer left an hour ago is removed."""
        found = []
        hour_ago = datetime.now(UTC).timestamp() - 3600
        for path in sorted((self.path / "records").glob("*/*")):
            if path.suffix == ".json" and path.stem not in known:
                with suppress(msgspec.MsgspecError, OSError):
                    found.append(vetting_of(path.read_bytes()))
            elif path.suffix == ".part":
                with suppress(OSError):
                    if path.stat().st_mtime < hour_ago:
                        path.unlink()
        yield from sorted(found, key=lambda vetting: vetting.at)

    def collect(self) -> History | None:
        """Add new records to the history, and make the reference from it; None while there is no
        record. Raises AssayError where the history cannot be read or written."""
        from reports.verdicts.vetting.reference import reference_of  # slow: SciPy

        now = datetime.now(UTC)
        with Store(self.path / "history.sqlite", create=True) as store:
            known = frozenset(night.run_id for night in store.nights(SITE, CAMPAIGN))
            for vetting in self.vettings(known):
                store.add(_night(vetting), _values(vetting))
            if not store.nights(SITE, CAMPAIGN):
                return None
            history = read_history(store, SITE, CAMPAIGN)
        write_whole(self.path / "reference.json", as_bytes(reference_of(history, utc_text(now))))
        for path in (self.path / "records").glob("*/*.json"):
            with suppress(OSError):
                if (
                    path.stem in known
                    and now.timestamp() - path.stat().st_mtime > _KEPT_DAYS * 86400
                ):
                    path.unlink()
        return history


def _night(vetting: Vetting) -> Night:
    """A vetting as the history keeps it; an unfit one has failures, a suspect one warnings."""
    facts = facts_by_value({vetting.node: vetting.facts})
    return Night(
        run_id=vetting.id,
        site=SITE,
        campaign=CAMPAIGN,
        started_at=vetting.at,
        context={fact: next(iter(values)) for fact, values in facts.items()},
        nodes=(vetting.node,),
        statuses={"ok": 1},
        failures=(vetting.line,) if vetting.word == "unfit" else (),
        warnings=(vetting.line,) if vetting.word == "suspect" else (),
        kinds={vetting.node: vetting.kind},
    )


def _values(vetting: Vetting) -> list[NightValues]:
    found = []
    for figure in vetting.figures:
        step, title, unit, better = METRICS[figure.metric]
        key = SeriesKey(
            *(CAMPAIGN, CAMPAIGN, "local", {"step": step}, figure.metric, unit, better),
            *({"node": vetting.node}, title, "Vetting"),
        )
        found.append(NightValues(key, (figure.value,)))
    return found
