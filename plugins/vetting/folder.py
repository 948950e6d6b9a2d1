# SPDX-License-Identifier: Apache-2.0
"""Folder of vettings, which all nodes see (plugins/vetting/docs/vetting.md)."""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from plugins.vetting.judge import METRICS, Reference, Vetting, vetting_of
from records.files import force_to_disk, held, write_whole
from records.forms import as_bytes
from records.history.model import Night, NightValues, SeriesKey
from records.history.reading import read_history
from records.history.store import Store
from records.site.node_facts import facts_by_value

#: Site and campaign of the vettings in their history.
SITE, CAMPAIGN = "nodes", "vet"
#: A moment as records have it.
TIME_FORM = "%Y-%m-%dT%H:%M:%SZ"
#: Records that are in the history are kept as files for so many days.
_KEPT_DAYS = 30
_REFERENCE = msgspec.json.Decoder(Reference)


@dataclass(frozen=True)
class VetFolder:
    """The folder of vettings of a site."""

    path: Path

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
            with suppress(FileExistsError):  # the same record
                # With src_dir_fd it is linkat(AT_SYMLINK_FOLLOW), which this needs.
                os.link(f"/proc/self/fd/{file.fileno()}", path, src_dir_fd=file.fileno())
        force_to_disk(path.parent)

    def vettings(self, known: Collection[str] = ()) -> list[Vetting]:
        """The records but those that are `known`, in order of time; damaged ones are left out."""
        found = []
        for path in (self.path / "records").glob("*/*.json"):
            if path.stem not in known:
                with suppress(msgspec.MsgspecError, OSError):
                    found.append(vetting_of(path.read_bytes()))
        return sorted(found, key=lambda vetting: vetting.at)

    def collect(self) -> None:
        """Add new records to the history, and make the reference from it. Raises AssayError where
        the history cannot be read or written."""
        from plugins.vetting.reference import reference_of  # slow: SciPy

        now = datetime.now(UTC)
        self.path.mkdir(parents=True, exist_ok=True)
        with (
            held(self.path / "history.lock"),  # two of `assay vet` at once
            Store(self.path / "history.sqlite", create=True) as store,
        ):
            known = frozenset(night.run_id for night in store.nights(SITE, CAMPAIGN))
            for vetting in self.vettings(known):
                store.add(_night(vetting), _values(vetting))
            if not store.nights(SITE, CAMPAIGN):
                return
            history = read_history(store, SITE, CAMPAIGN)
        reference = reference_of(history, f"{now:{TIME_FORM}}")
        write_whole(self.path / "reference.json", as_bytes(reference))
        old = now.timestamp() - _KEPT_DAYS * 86400
        for path in (self.path / "records").glob("*/*"):  # also what a killed writer left on NFS
            with suppress(OSError):
                if (path.stem in known or path.suffix == ".part") and path.stat().st_mtime < old:
                    path.unlink()


def _night(vetting: Vetting) -> Night:
    """A vetting as the history keeps it; an unfit one has failures, a suspect one warnings."""
    known = facts_by_value({vetting.node: vetting.facts}).items()
    context = {fact: next(iter(values)) for fact, values in known}
    return Night(
        run_id=vetting.id,
        site=SITE,
        campaign=CAMPAIGN,
        started_at=vetting.at,
        context=context,
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
