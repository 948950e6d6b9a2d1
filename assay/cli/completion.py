# SPDX-License-Identifier: Apache-2.0
"""`assay completion`: the completion script of a shell, made from the parser of all commands.

Commands and options stand in the script; it asks `assay` for names of campaigns, runs and so on.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay import criteria_files
from assay.cli.commands import COMMANDS
from assay.cli.parser import make_parser
from assay.schema import campaign_names
from assay.sites.site_file import site_names
from checks.common.registry import CHECKS
from records.errors import ExitStatus
from records.run.run_directory import RESULTS

#: What an argument's metavar asks for → the names there are.
_NAMES = {
    "CAMPAIGN": ("campaigns", campaign_names),
    "CHECK": ("checks", lambda: sorted(CHECKS)),
    "CRITERIA": ("criteria", criteria_files),
    "RUN": ("runs", lambda: sorted(path.parent.name for path in RESULTS.glob("*/*/plan.json"))),
    "SITE": ("sites", site_names),
}
_KINDS = dict(_NAMES.values())

#: The part that bash and zsh share. Words are matched after the path of commands before them.
_SHARED = """\
# Completion of assay for {shell}; load it with: source <(assay completion {shell})
_assay_words() {{ # PROGRAM CURRENT WORD...: candidates for CURRENT after the words, one a line
    local program=$1 current=$2 command='' last='' word
    shift 2
    for word in "$@"; do
        case $word in '=') continue ;; esac
        last=$word
        case "$command $word" in
            {commands}) command="$command $word" ;;
        esac
    done
    case "$command $last" in
{values}
    esac
    case "$command $current" in
{words}
    esac
}}
"""
_GLUE = {
    "bash": """\
_assay() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        [[ $word == "${COMP_WORDS[COMP_CWORD]}"* ]] && COMPREPLY+=("$word")
    done < <(_assay_words "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" \\
        "${COMP_WORDS[@]:1:COMP_CWORD-1}")
}
complete -o default -F _assay assay
""",
    "zsh": """\
_assay() {
    compadd -- ${(f)"$(_assay_words "$words[1]" "$words[CURRENT]" "${(@)words[2,CURRENT-1]}")"} ||
        _files
}
compdef _assay assay
""",
}


def completion_command(arguments: argparse.Namespace) -> int:
    """`assay completion`: print the script of a shell, or names that it offers."""
    if arguments.of in _KINDS:
        # Only names that need no quoting in a shell.
        print(*(n for n in _KINDS[arguments.of]() if re.fullmatch(r"[\w.:-]+", n)), sep="\n")
        return ExitStatus.PASS
    cases = _Cases()
    cases.add("", make_parser(COMMANDS))
    shared = _SHARED.format(
        shell=arguments.of,
        commands="|".join(map(shlex.quote, cases.commands)),
        values="\n".join(
            f"        {'|'.join(patterns)}) {candidates or ':'}; return ;;"
            for candidates, patterns in cases.values.items()
        ),
        words="\n".join(f"        {branch}" for branch in cases.words),
    )
    print(shared + _GLUE[arguments.of], end="")
    return ExitStatus.PASS


@dataclass
class _Cases:
    """The branches of the script's three `case` commands."""

    commands: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def add(self, path: str, parser: argparse.ArgumentParser) -> None:
        """What may follow the commands of `path`, and what may follow those below it."""
        options: list[str] = []
        positionals: list[str] = []
        for action in parser._actions:
            options += action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                positionals.append(f"printf '%s\\n' {shlex.join(action.choices)}")
                for name, below in action.choices.items():
                    self.commands.append(f"{path} {name}")
                    self.add(f"{path} {name}", below)
            elif not action.option_strings:
                positionals += _candidates(action)
            elif action.nargs != 0:
                patterns = [shlex.quote(f"{path} {name}") for name in action.option_strings]
                self.values.setdefault("; ".join(_candidates(action)), []).extend(patterns)
        self.words.append(f"{shlex.quote(path + ' -')}*) printf '%s\\n' {shlex.join(options)} ;;")
        self.words.append(
            f"{shlex.quote(path + ' ')}*) {'; '.join(dict.fromkeys(positionals)) or ':'} ;;"
        )


def _candidates(action: argparse.Action) -> Iterator[str]:
    """Shell commands that print what the argument may be; none for a file or a number."""
    if action.choices is not None:
        yield f"printf '%s\\n' {shlex.join(map(str, action.choices))}"
    for word in str(action.metavar).split("|"):
        if word in _NAMES:
            yield f'"$program" completion {_NAMES[word][0]} 2>/dev/null'
