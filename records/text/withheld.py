# SPDX-License-Identifier: Apache-2.0
"""Values that look like a token, a password or a key: they are named, their values are withheld.

A value is taken for one by the name that it is given (DB_PASSWORD=…, --api-key …, user:…@host), or
because it begins as the tokens of usual services do. Nothing else is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

#: Stands in place of the value.
WITHHELD = "(withheld: looks like a secret)"
_BEGIN = WITHHELD.partition(" ")[0]

#: Parts of names that say so wherever they stand, and shorter ones that are whole words.
_TELLING = (
    r"(?:TOKEN|JWT|SECRET|PASSWORD|PASSWD|PASS-?PHRASE|PASSCODE"
    r"|(?:API|ACCESS|AUTH|PRIVATE|LICEN[CS]E)[_-]?KEY)"
)
_SHORT = r"(?:PW|PSK|PASS|AUTH|CRED(?:ENTIAL)?S?|COOKIE|KEY)"
_NAME = re.compile(rf"{_TELLING}|(?:^|[_.\-\s]){_SHORT}(?:$|[_.\-\s\d])", re.IGNORECASE)
_VALUE = (  # quoted, or up to a blank or what ends a word of a shell or a sentence
    r"(?P<value>\"(?:\\.|[^\"\\\n]){1,4000}\"|'[^'\n]{1,4000}'"
    r"|[^\s;&\"'<>](?:[^\s;&\"'<>]*[^\s;&\"'<>,)])?)"
)
#: `value` is withheld where there is one, else all of it.
_PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hf_|AKIA|eyJ)[\w.-]{12,4000}",
        r"(?P<lead>://)(?P<value>[^/\s:@]{0,200}:[^/\s@]{1,200}|[^/\s:@]{4,200})(?=@)",
        r"(?P<lead>\b(?:Authorization|Cookie|Bearer)\b[\"']?[ \t]*[:=]?[ \t]*[\"']?"
        rf"(?:(?:Basic|Bearer)[ \t]+)?){_VALUE}",
        rf"(?P<lead>{_TELLING}\w*[\"']?[ \t]*[:=][ \t]*){_VALUE}",
        rf"(?P<lead>(?<![^\W_]){_SHORT}\d*[ \t]*=[ \t]*){_VALUE}",
        rf"(?P<lead>(?<![\w-])--?(?:[\w-]{{0,40}}[_-])?(?:{_TELLING}|{_SHORT})"
        rf"[\"']?(?:,?[ \t]+|=)){_VALUE}",
        r"(?P<lead>(?<![\w-])(?:-[a-z]{0,4}u|--(?:proxy-)?user(?:pwd)?)[\"',= \t]*)"
        r"(?P<value>[^\s:\"'/,]+:[^\s\"']+)",  # user:password, as curl and others have it
    )
]
#: Folders that lead to this checkout, to another one, and to what a run keeps.
_ABOVE = re.compile(
    rf"/(?:{re.escape(str(Path(__file__).resolve().parents[2])[1:])}/|(?:[\w.+@~=-]+/){{1,40}}"
    r"(?=(?:checks/common|site-config|spack-env|virtual_cluster)/|\d{8}T\d{6}Z-[0-9a-f]{4}))"
)


def masked(text: str) -> str:
    """A program's text with its tokens and passwords withheld; their names stay. Of paths what lies
    above a checkout or a run is left out. Masked text stays as it is."""
    return _ABOVE.sub("…/", _without_values(text))


def _without_values(text: str) -> str:
    def withheld(match: re.Match[str]) -> str:
        parts = match.groupdict()
        if parts.get("value", "").startswith(_BEGIN):
            return match[0]
        return (parts.get("lead") or "") + WITHHELD

    for pattern in _PATTERNS:
        text = pattern.sub(withheld, text)
    return text


def looks_secret(name: str, value: str) -> bool:
    """Tell whether the name says that the value is a secret, or the value looks like one."""
    return bool(value) and (_NAME.search(name) is not None or _without_values(value) != value)


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """Names with their values, those that look like a secret withheld."""
    return {n: WITHHELD if looks_secret(n, value) else value for n, value in values.items()}
