# SPDX-License-Identifier: Apache-2.0
"""Values that look like a token, a password or a key: they are named, their values are withheld."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Stands in place of the value.
WITHHELD = "(withheld: looks like a secret)"

_WORDS = (
    r"TOKEN|JWT|PASS(WORD|WD|PHRASE|CODE)?|PWD|SECRETS?|CRED(ENTIAL)?S?|API_?KEYS?|PRIVATE"
    r"|AUTH(ORI[SZ]ATION|KEY|TOKEN)?|BEARER|COOKIES?|SIGNATURE|SAS|KEYS?|KEYFILE|(ACCESS|SIGN)_?KEY"
)
#: A name that says so: one of the words between underscores, or at the end of a longer word.
_NAME = re.compile(
    rf"(?:^|[_.\-\s])(?:{_WORDS})(?:$|[_.\-\s\d])"
    r"|(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|(?:API|ACCESS|PRIVATE|SECRET)KEY|JWT)S?\d*$",
    re.IGNORECASE,
)
#: Names that hold such a word and no secret.
_HARMLESS = re.compile(r"(NUM|MAX|MIN|COUNT|SIZE|CACHE)_\w*KEYS?$|^PWD$", re.IGNORECASE)
_LOOKS = (
    r"\beyJ[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{0,4000})?"  # a JSON web token
    r"|-----BEGIN [A-Z ]*-----[^-]*"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hf_|AKIA|ASIA|AIza|npm_|dop_v1_)[\w-]{12,}"
    r"|\b[a-z][a-z0-9+.-]{0,20}://[^/\s:@]{0,200}:[^/\s@]{1,200}@"  # user:password in an address
    r"|\b(?:Bearer|Authorization:\s*\w+)\s+[\w+/=.-]{8,}"
)
_VALUE = re.compile(
    rf"{_LOOKS}|(?:^|[\s,;&?\"'_-])(?:{_WORDS})\s*[=:]\s*\S"  # password=…
    r"|\$(?:1|2[aby]?|5|6|y|argon2\w*)\$[\w./$=,+-]{8,}",  # a password's hash
    re.IGNORECASE,
)
#: Long words without a structure; paths, lists and versions have separators.
_LONG = re.compile(r"(?<![\w+/.-])[\w+-]{20,}={0,2}(?![\w+/.-])")
_HEX = re.compile(r"(?i)(?=\w*\d)(?=\w*[a-f])[0-9a-f]{32,}")
#: In running text only what certainly is one: a token, or what a telling name is set to.
_IN_TEXT = re.compile(
    r"(?P<name>\b\w*(?:TOKEN|JWT|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY)\w*\s*[=:]\s*)"
    rf"(?!{re.escape(WITHHELD)})[^\s;,]+|{_LOOKS}",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """A program's text with its tokens and passwords withheld; their names stay. Masked text stays
    as it is."""
    return _IN_TEXT.sub(lambda found: (found["name"] or "") + WITHHELD, text)


def looks_secret(name: str, value: str) -> bool:
    """Whether the name says that the value is a secret, or the value looks like one."""
    if _NAME.search(name) and not _HARMLESS.search(name):
        return bool(value)
    return bool(_VALUE.search(value)) or any(_drawn(word[0]) for word in _LONG.finditer(value))


def _drawn(word: str) -> bool:
    """Whether a long word is drawn rather than written: hexadecimal, or of mixed characters."""
    kinds = (str.islower, str.isupper, str.isdigit)
    return bool(_HEX.fullmatch(word)) or all(any(map(kind, word)) for kind in kinds)


def shown(name: str, value: str) -> str:
    """The value, or WITHHELD."""
    return WITHHELD if looks_secret(name, value) else value


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """Names with their values, those that look like a secret withheld."""
    return {name: shown(name, value) for name, value in values.items()}
