# SPDX-License-Identifier: Apache-2.0
"""Names that become paths, options or job scripts: what they may look like.

They are validated where a plan, a record, a provenance or a history is read, before any use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Ids of runs and cases, names of campaigns, sites, environments, checks, metrics and nodes.
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
ALLOWED = (
    "allowed are up to 128 letters, digits, dots, hyphens and underscores, the first a letter or"
    " digit"
)
#: A site as it is asked for: a folder of site-config/, SITE:PARTITION, or virtual:CLUSTER.
_SITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(:[A-Za-z0-9][A-Za-z0-9_.-]{0,127})?")
_PART = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,254}"
_ARTIFACT = re.compile(f"{_PART}(/{_PART})+")


def is_word(text: str) -> bool:
    """Whether a text can be a name: no path, no option, nothing that a shell reads."""
    return WORD.fullmatch(text) is not None


def odd_word(words: Iterable[str]) -> str | None:
    """The first that is no name."""
    return next((word for word in words if WORD.fullmatch(word) is None), None)


def is_site(text: str) -> bool:
    """Whether a text can follow --site."""
    return _SITE.fullmatch(text) is not None


def is_artifact(path: str) -> bool:
    """Whether a path is that of a file in a folder of the run directory, or in an archive there,
    as "raw/b1.zip/x.b1.a1.out"."""
    return _ARTIFACT.fullmatch(path) is not None
