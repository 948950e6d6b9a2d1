# SPDX-License-Identifier: Apache-2.0
"""Draining an unfit node and resuming it: by the site's policy, rarely, and only one's own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from checks.common.slurm.commands import Slurm, fields
from plugins.vetting.folder import VetFolder
from plugins.vetting.records import Vetting
from records.errors import AssayError
from records.files import append_whole, held
from records.forms import Part, as_bytes, key
from reports.notation.units import count_text

#: How each reason of ours begins.
MARK = "assay:"
_LONGEST_REASON = 200


class DrainEntry(Part):
    """A line of drains.jsonl."""

    node: Annotated[str, key("The node.")]
    record: Annotated[str, key("The vetting.")]
    at: Annotated[float, key("When, seconds since 1970.")]
    action: Annotated[str, key("drained or resumed.")]
    reason: Annotated[str, key("Slurm's reason of the drain; empty of a resume.")] = ""


_ENTRY = msgspec.json.Decoder(DrainEntry)


@dataclass(frozen=True)
class Drains:
    """Drains nodes of `slurm`, at most so many an hour as the site allows (0: none at all); on any
    error none."""

    folder: VetFolder
    most: int
    slurm: Slurm

    def act(self, vetting: Vetting, reason: str = "") -> str:
        """Drain the node of an unfit vetting, or resume it after a fit one if a vetting drained it.

        Gives what was done or why not, in one line; "" where there is nothing to do.
        """
        if vetting.word == "suspect" or not self.most:
            why = "the site's policy (vetting.drain) does not allow it"
            return f"not drained: {why}" if vetting.word == "unfit" else ""
        try:
            shown = self.slurm.ask("scontrol", "show", "node", vetting.node, "--oneliner")
            if shown.status != 0:
                return f"not drained or resumed: Slurm does not say its state ({shown.said})"
            log = self.folder.path / "drains.jsonl"
            with held(log, "another vetting drains a node now"):
                entries = [_ENTRY.decode(line) for line in log.read_bytes().splitlines()]
                text, action = self._decided(vetting, reason, shown.stdout, entries)
                if not action:
                    return text
                why, now = text if action == "drained" else "", time.time()
                entry = DrainEntry(vetting.node, vetting.id, now, action, why)
                # Before it is done: what a vetting has drained is known after a kill, too.
                with log.open("ab") as file:
                    append_whole(file.fileno(), as_bytes(entry) + b"\n")
            set_to = ["State=DRAIN", f"Reason={why}"] if why else ["State=RESUME"]
            done = self.slurm.ask("scontrol", "update", f"NodeName={vetting.node}", *set_to)
        except (OSError, msgspec.MsgspecError, AssayError) as error:
            return f"not drained or resumed: {error}"
        if done.status != 0:
            return f"not {action}: {done.said}"
        return f"drained, reason: {text}" if why else text

    def _decided(
        self, vetting: Vetting, reason: str, shown: str, entries: Sequence[DrainEntry]
    ) -> tuple[str, str]:
        """The reason of a drain, or what else is said; and what is done, "" for nothing."""
        state = fields(shown).get("State", "")
        if vetting.word == "fit":
            own = [one for one in entries if one.node == vetting.node][-1:]
            if "DRAIN" not in state:
                return "", ""
            # Only where the reason that the node has now is that of its last drain in the log.
            if not own or not own[0].reason or own[0].reason not in shown:
                return "not resumed: no vetting drained it", ""
            return "resumed: fit again", "resumed"
        if "DRAIN" in state or "DOWN" in state:
            return f"not drained: the node is {state} already", ""
        # Entries of the future are of a clock that was set: they count.
        recent = [one for one in entries if one.reason and time.time() - one.at < 3600]
        if len(recent) >= self.most:
            most = f"at most {count_text(self.most, 'drain')} an hour"
            return f"not drained: {most} (vetting.drains_per_hour)", ""
        return f"{MARK} {reason}"[:_LONGEST_REASON] + f" {vetting.id}", "drained"
