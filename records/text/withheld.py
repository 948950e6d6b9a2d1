# SPDX-License-Identifier: Apache-2.0
"""Values that look like a token, a password or a key: they are named, their values are withheld."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Collection, Mapping
from functools import partial
from html import escape
from pathlib import Path
from urllib.parse import quote

#: Stands in place of the value.
WITHHELD = "(withheld: looks like a secret)"
_BEGIN = WITHHELD.partition(" ")[0]

_WORDS = (
    r"TOKEN|JWT|PASS(WORD|WD|PHRASE|CODE)?|PWD?|PSK|OTP|SECRETS?|CRED(ENTIAL)?S?|API_?KEYS?|PRIVATE"
    r"|AUTH(ORI[SZ]ATION|KEY|TOKEN)?|BEARER|COOKIES?|SIGNATURE|SAS|KEYS?|KEYFILE|(ACCESS|SIGN)_?KEY"
)
_ABROAD = r"PASSWORT|KENNWORT|MOT_?DE_?PASSE|CONTRASE[NÑ]A|SENHA$|WACHTWOORD"
#: A name that says so: one of the words between underscores, or at the end of a longer word.
_NAME = re.compile(
    rf"(?:^|[_.\-\s])(?:{_WORDS})(?:$|[_.\-\s\d])"
    r"|(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|(?:API|ACCESS|PRIVATE|SECRET|LICEN[CS]E)KEY|JWT)S?\d*$"
    rf"|(?<!BY)(?<!COM)PASS\d*$|\wPW\d*$|{_ABROAD}",
    re.IGNORECASE,
)
#: Names that hold such a word and no secret.
_HARMLESS = re.compile(r"(NUM|MAX|MIN|COUNT|SIZE|CACHE)_\w*KEYS?$|^PWD$", re.IGNORECASE)
_LOOKS = (
    r"\beyJ[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]{0,4000})?"  # a JSON web token
    r"|-----BEGIN [A-Z ]*-----[^-]*"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|hf_|AKIA|ASIA|AIza|npm_|dop_v1_)[\w-]{12,}"
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
#: Names of our jobs, and comments, which hold that of a run.
_LAUNCH = re.compile(r"rfm_L\d{7}_\w+|(?:assay-)?\d{8}T\d{6}Z-[0-9a-f]{4}(?:-[0-9a-f]{6})?")
#: Lines of a job script that no site wrote.
_OURS = ("#!", "#SBATCH ", "./session.sh ")
_WORD = (  # a value: quoted, or up to a blank or what ends a word of a shell or a sentence
    r"(?P<value>\\+\"[^\"\\\n]{1,4000}\\+\"|\"(?:\\.|[^\"\\\n]){1,4000}\"|'[^'\n]{1,4000}'"
    r"|[^\s;&\"'<>](?:[^\s;&\"'<>]*[^\s;&\"'<>,)])?)"
)
_TELLING = (
    rf"(?:TOKEN|JWT|SECRET|PASSWORD|PASSWD|PASS-?PHRASE|PASSCODE|{_ABROAD.replace('$', '')}"
    r"|(?:API|ACCESS|PRIVATE|SECRET|LICEN[CS]E)[_-]?KEY)\w*"
)
_SHORT = (
    r"(?<![^\W_])(?!(?<!_)PWD[ \t]*=)"
    r"(?:PW|PWD|PASS|AUTH|CRED(?:ENTIAL)?S?|COOKIE|SIG(?:NATURE)?|SAS|KEY)\d*"
)
_OR_NEXT = r"(?:[\"']?,[ \t]*|[ \t]+|=)"  # between an option and its value, also in a printed list
#: In running text only what certainly is one: a token, or what a telling name or option is set to.
#: `value` is withheld where there is one, else all of it. A first letter is asked for, for speed.
_IN_TEXT = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<lead>://)(?P<value>[^/\s:@]{0,200}:[^/\s@]{1,200})(?=@)",  # user:password
        r"(?P<lead>https?://)(?P<value>[^/\s:@]{4,200})(?=@)",
        _LOOKS,
        rf"(?=[ACJKLMPSTW])(?P<lead>{_TELLING}\\*[\"']?[ \t]*[=:][ \t]*){_WORD}",
        rf"(?P<lead>(?<![^\W_])(?:\w{{0,40}}PW|\w{{0,40}}(?<!BY)(?<!COM)PASS|PSK)\d*=){_WORD}",
        rf"(?=[ACKPS])(?P<lead>{_SHORT}[ \t]*=[ \t]*){_WORD}",
        rf"(?P<lead>(?<![\w-])--?(?:[\w-]*[_-])?(?:{_TELLING}|{_SHORT})[\"']?{_OR_NEXT}){_WORD}",
        # user:password after the option that curl and others have for it
        r"(?P<lead>(?<![\w-])(?:-[a-z]{0,4}[uU]|--(?:proxy-)?user(?:pwd)?)[\"',= \t]*)"
        r"(?P<value>[^\s:\"'/,]+:[^\s\"']+)",
        rf"(?P<lead>\bsshpass\s+-p\s*){_WORD}",
        rf"(?P<lead>\b(?:mysql|mariadb)\w*[ \t](?:[^\n;|&]{{0,400}}[ \t])?-p){_WORD}",
        rf"(?P<lead>(?:\b|\\n)login\s+[^\s\\]+(?:\s|\\n)+password\s+){_WORD}",  # ~/.netrc
        rf"(?P<lead><<<[ \t]*){_WORD}",
        rf"(?P<lead>\becho[ \t]+){_WORD}(?=[^\n|]{{0,200}}\|[^\n]{{0,200}}--pass\w*-stdin)",
        rf"(?P<lead>\b(?:ldap\w+[ \t][^\n;|&]{{0,400}}-w|ssh-keygen[ \t][^\n;|&]{{0,400}}-[NP]"
        rf"|redis-cli[ \t][^\n;|&]{{0,400}}-a|openssl[ \t][^\n;|&]{{0,400}}-k)[ \t]+){_WORD}",
        rf"(?P<lead>[ \t]-pass(?:in|out)?[ \t]+pass:|[ \t]-U[ \t]*[^\s%]+%){_WORD}",
        rf"(?P<lead>\b(?:Authorization|Cookie)[\"']?[ \t]*[:=][ \t]*[\"']?(?:\w+[ \t]+)?){_WORD}",
    )
]
_EXPORT = re.compile(r"\s*export\s+(\w+)=(.*)")
#: Folders that lead to this checkout, to another one, and to what a run keeps.
_ABOVE = re.compile(
    rf"/(?:{re.escape(str(Path(__file__).resolve().parents[2])[1:])}/|(?:[\w.+@~=-]+/){{1,40}}"
    r"(?=(?:checks/common|site-config|spack-env|virtual_cluster)/|\d{8}T\d{6}Z-[0-9a-f]{4}))"
)
#: Characters of a secret from which on other texts are searched for it; numbers need more.
_LEAST, _LEAST_DIGITS = 4, 8


def masked(text: str, secrets: Collection[str] = ()) -> str:
    """A program's text with its tokens and passwords withheld, and `secrets` wherever they stand;
    their names stay. Of paths what lies above a checkout or a run is left out. Masked text stays
    as it is."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, WITHHELD)
    joined = text.replace("\n", "")
    for secret in (one for one in secrets if len(one) >= _LEAST_DIGITS and one in joined):
        text = re.sub("\n?".join(map(re.escape, secret)), WITHHELD, text)
    for pattern in _IN_TEXT:
        text = pattern.sub(_without_value, text)
    return _ABOVE.sub("…/", text)


def _without_value(found: re.Match[str]) -> str:
    parts = found.groupdict()
    if parts.get("value", "").startswith(_BEGIN):
        return found[0]
    return (parts.get("lead") or "") + WITHHELD


def masked_script(script: str) -> str:
    """A job script in which no value stands that a provenance withholds; the rest of each line
    tells what it does."""
    return masked("\n".join(map(_masked_line, script.split("\n"))), secrets_of(script))


def _masked_line(line: str) -> str:
    exported = _EXPORT.fullmatch(line)
    if exported:
        if looks_secret(exported[1], _unquoted(exported[2])):
            return line[: exported.start(2)] + WITHHELD
    elif not line.startswith(_OURS) and looks_secret("", line):
        return WITHHELD  # as in a provenance
    return _LONG.sub(lambda word: WITHHELD if _drawn(word[0]) else word[0], line)


def secrets_of(script: str) -> set[str]:
    """The values that `masked_script` withholds, as a program that prints them writes them."""
    found = {word[0] for word in _LONG.finditer(script) if _drawn(word[0])}
    for line in script.split("\n"):
        exported = _EXPORT.fullmatch(line)
        if exported and looks_secret(exported[1], _unquoted(exported[2])):
            found.add(exported[2])
    for pattern in _IN_TEXT:
        for match in pattern.finditer(script):
            value = match.groupdict().get("value") or match[0]
            found |= {value, value.partition(":")[2], value.partition("=")[2]}
            found.add(value.partition("\\n")[0])
    bare = {value.strip("\"' \t") for value in found}
    bare |= {*map(_unquoted, bare)}
    further = (partial(quote, safe=""), escape, _in_base64)
    bare |= {one(value) for value in bare for one in further}
    return {
        value
        for value in bare
        if len(value) >= (_LEAST_DIGITS if value.isdigit() else _LEAST) and value not in WITHHELD
    }


def _unquoted(value: str) -> str:
    """A value without the quotes and backslashes of a shell."""
    return re.sub(r"\\(.)", r"\1", value.strip("\"' \t"))


def _in_base64(value: str) -> str:
    """Its whole triples, whatever follows."""
    return b64encode(value.encode()[: len(value.encode()) // 3 * 3]).decode()


def looks_secret(name: str, value: str) -> bool:
    """Whether the name says that the value is a secret, or the value looks like one."""
    if _NAME.search(name) and not _HARMLESS.search(name):
        return bool(value)
    telling = any(pattern.search(value) for pattern in (_VALUE, *_IN_TEXT))
    return telling or any(_drawn(word[0]) for word in _LONG.finditer(value))


def _drawn(word: str) -> bool:
    """Whether a long word is drawn rather than written: hexadecimal, or of mixed characters."""
    if _LAUNCH.fullmatch(word):
        return False
    kinds = (str.islower, str.isupper, str.isdigit)
    return bool(_HEX.fullmatch(word)) or all(any(map(kind, word)) for kind in kinds)


def shown(name: str, value: str) -> str:
    """The value, or WITHHELD."""
    return WITHHELD if looks_secret(name, value) else value


def without_secrets(values: Mapping[str, str]) -> dict[str, str]:
    """Names with their values, those that look like a secret withheld."""
    return {name: shown(name, value) for name, value in values.items()}
