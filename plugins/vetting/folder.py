# SPDX-License-Identifier: Apache-2.0
"""Folder of vettings, which all nodes see (plugins/vetting/docs/vetting.md)."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from checks.common.slurm.commands import run_here
from plugins.vetting.judge import METRICS, STREAM_BYTES, Figure, Reference, Vetting, vetting_of
from records.errors import AssayError
from records.files import force_to_disk, held, write_whole
from records.flags import DISTURBED
from records.forms import as_bytes
from records.history.model import Night, NightValues, SeriesKey
from records.history.reading import read_history
from records.history.store import Store
from records.run.provenance import Provenance
from records.run.run_directory import RunDirectory, open_run
from records.site.node_facts import NodeFacts, facts_by_value, kinds_of
from records.site.pair_scans import NODE
from reports.notation.units import count_text

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

    def collect(self) -> list[str]:
        """Add new records to the history, and make the reference from it; a line for each node that
        loses over weeks. Raises AssayError where the history cannot be read or written."""
        from plugins.vetting.reference import decays, reference_of  # slow: SciPy

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
                return []
            history = read_history(store, SITE, CAMPAIGN)
        reference = reference_of(history, f"{now:{TIME_FORM}}")
        write_whole(self.path / "reference.json", as_bytes(reference))
        old = now.timestamp() - _KEPT_DAYS * 86400
        for path in (self.path / "records").glob("*/*"):  # also what a killed writer left on NFS
            with suppress(OSError):
                if (path.stem in known or path.suffix == ".part") and path.stat().st_mtime < old:
                    path.unlink()
        return decays(history)

    def take_accepted(self, name: str) -> str:
        """Keep facts and like figures of the nodes that an acceptance does not name, as fit
        vettings; says what was taken. Raises AssayError for a run that is not judged."""
        from reports.verdicts.acceptance.dossier import AcceptanceForm  # slow: SciPy

        run = open_run(name)
        try:
            text = (run.path / "acceptance" / "acceptance.json").read_bytes()
            form = msgspec.json.decode(text, type=AcceptanceForm)
        except (OSError, msgspec.MsgspecError) as error:
            raise AssayError(f"{run.path} is not judged: assay accept {name} ({error})") from error
        named = [one for one in form.findings if one.state != "not confirmed"]
        bad = {n for one in named if one.kind in {"node", "group", "link"} for n in one.nodes}
        provenance, line = run.provenance(), f"fit: accepted in {form.run_id}"
        kinds, at = kinds_of(provenance.nodes), provenance.started_at or ""
        figures, why = _alike(run, provenance)
        for node in {*kinds} - bad:
            one = Vetting(id=f"{form.run_id}-{node}", node=node, at=at, kind=kinds[node])
            one = replace(one, word="fit", line=line, facts=provenance.nodes[node])
            for number, (when, figure) in enumerate([(at, None), *figures.get(node, [])]):
                shown = [figure] if figure else []
                self.keep(replace(one, id=f"{one.id}-{number}", at=when, figures=shown))
        self.collect()
        return f"{count_text(len({*kinds} - bad), 'node')} of {form.run_id} are peers: facts{why}"


def _alike(
    run: RunDirectory, provenance: Provenance
) -> tuple[dict[str, list[tuple[str, Figure]]], str]:
    """Times and figures of a node's launches that measure STREAM's triad as a vetting does: the
    same compiler, a rank on each processor that no other program had, arrays above the caches; and
    what is taken, or why it is not. DGEMM never is: that of a run is a BLAS's."""
    found: dict[str, list[tuple[str, Figure]]] = {}
    why, compiler = "no STREAM", run_here(["cc", "--version"]).stdout.partition("\n")[0]
    for record in run.records():
        environment = provenance.environments.get(record.environment)
        its = (environment and environment.compiler_version) or "unknown"
        size, ranks = (record.params.get(key, 0) for key in ("stream_bytes", "ranks_per_node"))
        for metric in record.metrics if record.check == "node" and record.status == "ok" else ():
            facts = provenance.nodes.get(node := str((metric.at or {}).get(NODE)), NodeFacts())
            cores = (facts.cores or 0) * (facts.threads_per_core or 1)
            alike = its.partition(" ")[2] == compiler.partition(" ")[2] and ranks == cores
            alike &= DISTURBED not in record.flags
            if metric.name == "stream_triad" and alike and size >= STREAM_BYTES:
                figure = Figure(metric=metric.name, value=metric.value, unit=metric.unit)
                found.setdefault(node, []).append((record.started_at or "", figure))
            why = f"{ranks} ranks on {cores} cores, arrays of {size} bytes, {its}; not {compiler}"
    return found, ", memory bandwidth" if found else f"; no figure is measured alike ({why})"


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
