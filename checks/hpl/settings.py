# SPDX-License-Identifier: Apache-2.0
"""HPL's settings: the lines of HPL.dat (format of HPL 2), and what HPL prints of them."""

from __future__ import annotations

import re

from checks.common.json_lines import OutputError
from checks.hpl import HPL_CODES, HplParameters

#: Lines of HPL.dat below its titles: a parameter or a value, its meaning there, and the name by
#: which HPL prints it.
_LINES: tuple[tuple[str | int, str, str], ...] = (
    ("HPL.out", "output file name (if any)", ""),
    (6, "device out (6=stdout,7=stderr,file)", ""),
    (1, "# of problems sizes (N)", ""),
    ("n", "Ns", "N"),
    (1, "# of NBs", ""),
    ("nb", "NBs", "NB"),
    ("pmap", "PMAP process mapping (0=Row-,1=Column-major)", "PMAP"),
    (1, "# of process grids (P x Q)", ""),
    ("p", "Ps", "P"),
    ("q", "Qs", "Q"),
    ("threshold", "threshold", ""),
    (1, "# of panel fact", ""),
    ("pfact", "PFACTs (0=left, 1=Crout, 2=Right)", "PFACT"),
    (1, "# of recursive stopping criterium", ""),
    ("nbmin", "NBMINs (>= 1)", "NBMIN"),
    (1, "# of panels in recursion", ""),
    ("ndiv", "NDIVs", "NDIV"),
    (1, "# of recursive panel fact.", ""),
    ("rfact", "RFACTs (0=left, 1=Crout, 2=Right)", "RFACT"),
    (1, "# of broadcast", ""),
    ("bcast", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)", "BCAST"),
    (1, "# of lookahead depth", ""),
    ("depth", "DEPTHs (>=0)", "DEPTH"),
    ("swap", "SWAP (0=bin-exch,1=long,2=mix)", "SWAP"),
    ("swap_threshold", "swapping threshold", ""),
    ("l1", "L1 in (0=transposed,1=no-transposed) form", "L1"),
    ("u", "U  in (0=transposed,1=no-transposed) form", "U"),
    ("equilibration", "Equilibration (0=no,1=yes)", "EQUIL"),
    ("alignment", "memory alignment in double (> 0)", "ALIGN"),
)
#: What HPL prints for the words of a campaign, where it is not the word itself.
_PRINTED: dict[str, dict[object, str]] = {
    "pmap": {"row": "Row-major process mapping", "column": "Column-major process mapping"},
    "bcast": {"long": "Blong", "longM": "BlongM"},
    "swap": {"bin-exch": "Binary-exchange", "long": "Spread-roll (long)"},
    "l1": {"transposed": "transposed form", "no-transposed": "no-transposed form"},
    "u": {"transposed": "transposed form", "no-transposed": "no-transposed form"},
    "equilibration": {True: "yes", False: "no"},
    **{name: {word: word.capitalize() for word in HPL_CODES[name]} for name in ("pfact", "rfact")},
}
#: The settings that HPL read, after the explanation of their names.
SETTINGS = re.compile(
    r"^The following parameter values will be used:\s*\n(?P<lines>.*?)^-{5,}\s*$",
    re.MULTILINE | re.DOTALL,
)
_SETTING = re.compile(r"^(?P<name>[A-Z][A-Z1 ]{5}) ?:(?P<value>.*)$")
_STRAY_SETTING = re.compile(
    rf"^(?:{'|'.join(printed for *_, printed in _LINES if printed)}) *:.*$", re.MULTILINE
)
THRESHOLD = re.compile(
    r"^- Computational tests pass if scaled residuals are less than +(?P<least>\S+)\s*$",
    re.MULTILINE,
)


def hpl_dat(asked: HplParameters) -> str:
    """The HPL.dat that asks for exactly one test with these settings."""
    values: dict[str | int, object] = dict(asked)
    for name, words in HPL_CODES.items():
        values[name] = words.index(str(values[name]))
    values["equilibration"] = int(asked.equilibration)
    lines = [f"{values.get(what, what)!s:<14}{meaning}" for what, meaning, _ in _LINES]
    return "\n".join(["HPLinpack benchmark input file", "written by assay", *lines, ""])


def settings_of(asked: HplParameters) -> dict[str, str]:
    """The settings that HPL must print for what was asked, in their order."""
    values = dict(asked)
    said = {
        printed: str(_PRINTED.get(str(name), {}).get(values[str(name)], values[str(name)]))
        for name, _, printed in _LINES
        if printed
    }
    if asked.swap == "mix":
        said["SWAP"] = f"Mix (threshold = {asked.swap_threshold})"
    return {**said, "ALIGN": f"{asked.alignment} double precision words"}


def variant_of(asked: HplParameters) -> str:
    """The code that begins the result line, as HPL_pdtest prints it."""
    factorisations = {"left": "L", "crout": "C", "right": "R"}
    return (
        f"W{'R' if asked.pmap == 'row' else 'C'}{asked.depth}"
        f"{HPL_CODES['bcast'].index(asked.bcast)}{factorisations[asked.rfact]}{asked.ndiv}"
        f"{factorisations[asked.pfact]}{asked.nbmin}"
    )


def check_settings(text: str, asked: HplParameters) -> None:
    """Raise OutputError unless HPL printed these settings, each once, and no other."""
    blocks = list(SETTINGS.finditer(text))
    if len(blocks) != 1:
        raise OutputError(f"HPL prints its settings {len(blocks)} times; once is right")
    stray = _STRAY_SETTING.search(text, blocks[0].end())
    if stray:
        raise OutputError(f"HPL prints {stray[0][:80]!r} after its settings")
    wanted, found = settings_of(asked), dict[str, str]()
    # str.splitlines would also split at characters that are no newline to the program.
    for line in blocks[0]["lines"].split("\n"):
        if not line.strip() or line.startswith("{"):
            continue
        match = _SETTING.match(line)
        name = match["name"].strip(" ") if match else ""
        if match is None or name not in wanted or name in found:
            raise OutputError(f"HPL's settings have a line that is none, or twice: {line[:80]!r}")
        found[name] = match["value"].strip(" ")
    if list(found) != list(wanted):
        raise OutputError(f"HPL's settings are {', '.join(found)}; right is {', '.join(wanted)}")
    for name, value in wanted.items():
        if found[name] != value:
            raise OutputError(f"HPL ran with {name} = {found[name]!r:.80}; asked was {value}")
    stated = [match["least"] for match in THRESHOLD.finditer(text)]
    if stated != [f"{asked.threshold:.1f}"]:
        raise OutputError(f"HPL's threshold is {stated!r:.80}; asked was {asked.threshold:.1f}")
