# SPDX-License-Identifier: Apache-2.0
"""`assay contract watch`: book a look, or look after look; give an outage a class; report."""

import argparse
import time

from assay.screens.pages import show_pages
from assay.sites.loading import load_site
from assay.terminal import say
from plugins.contract.stability import ledger
from plugins.contract.stability.booking import booked, own_times
from plugins.contract.stability.looking import Known, Looking, unreached
from plugins.contract.stability.result import before_the_test, stability_result
from records.errors import AssayError, ClusterDownError, ExitStatus, UnreachableError
from reports.answers import State
from reports.notation.units import count_text

_STATUS = {State.FAIL: ExitStatus.FAIL, State.INCONCLUSIVE: ExitStatus.INCONCLUSIVE}


def watch_command(arguments: argparse.Namespace) -> int:
    """`assay contract watch`; a report gives the exit status of its verdict."""
    path = arguments.folder or ledger.PHASES / arguments.site.replace(":", "-")
    folder = ledger.WatchFolder(path)
    if arguments.classed:
        return _classify(folder, arguments)
    if not (arguments.once or arguments.every_s):
        return _report(folder, as_json=arguments.json)
    watch = _declared(folder, arguments)
    book(folder, watch, once=arguments.once)
    if arguments.once:
        return ExitStatus.PASS
    return _report(folder, as_json=arguments.json)


def book(folder: ledger.WatchFolder, watch: ledger.WatchTerms, *, once: bool) -> None:
    """Book one look, or look after look until the phase is over. A new ledger begins with `watch`;
    one that is there keeps its own terms. Raises AssayError where another process books."""
    looking, until = _looking(watch.site, watch), time.monotonic()  # before anything is written
    folder.path.mkdir(parents=True, exist_ok=True)
    with folder.alone():
        if entries := folder.entries():
            watch = ledger.watch_of(entries, folder.path)
            looking = _looking(watch.site, watch)
        else:
            folder.add(watch)
        while _look(folder, watch, looking) and not once:
            until = max(until + watch.every_s / watch.scale, time.monotonic())
            time.sleep(max(0.0, until - time.monotonic()))


def _declared(folder: ledger.WatchFolder, arguments: argparse.Namespace) -> ledger.WatchTerms:
    """Terms of the watch: as the ledger says, or by the options for a new one.

    Raises AssayError for options that the ledger contradicts.
    """
    keys = set(ledger.WatchTerms.__struct_fields__) - {"site"}
    given = {k: v for k, v in vars(arguments).items() if k in keys and v not in (None, [])}
    if entries := folder.entries():
        watch = ledger.watch_of(entries, folder.path)
        for name, value in given.items():
            if (known := getattr(watch, name)) != value:
                raise AssayError(
                    f"{folder.log}:1: this phase has `{name}` {known}, and {value} is asked for;"
                    " leave the option out, or begin another phase with --folder"
                )
        return watch
    if not {"every_s", "length_s"} <= given.keys():
        raise AssayError(f"{folder.path}: a phase begins with --every and --for, e.g. 60s and 30d")
    watch = ledger.WatchTerms(at=time.time(), site=arguments.site, **given)
    if watch.length_s < watch.every_s:
        raise AssayError("--for is shorter than --every: no look would be in the phase")
    for sentence in before_the_test(watch):
        say(sentence)
    return watch


def _looking(name: str, watch: ledger.WatchTerms) -> Looking | str:
    """`Looking` of the site; the reason why its controller cannot be reached at all."""
    try:
        return Looking(load_site(name), watch)
    except ClusterDownError:
        raise
    except UnreachableError as error:
        return str(error)


def _look(folder: ledger.WatchFolder, watch: ledger.WatchTerms, looking: Looking | str) -> bool:
    """Book a look; whether the phase goes on after it."""
    entries = folder.entries()
    if _over([one for one in entries if isinstance(one, ledger.ClusterLook)], watch):
        say(f"{folder.path}: the phase is over; see it with: assay contract watch")
        return False
    known = Known.of(entries)
    if isinstance(looking, str):
        looking = _looking(watch.site, watch)
    look = unreached(looking) if isinstance(looking, str) else looking.look(known)
    folder.add(look)
    nodes = known.nodes | look.nodes
    out = sorted(node for node, one in nodes.items() if one.out)
    faults = [look.fault, *(f"{at}: {why}" for at, why in look.file_systems.items())]
    faults += [f"{node} is {nodes[node].out}" for node in out[:4]]
    faults += [f"{len(out) - 4} further nodes"] if len(out) > 4 else []
    told = "; ".join(filter(None, faults)) or "all serve"
    looks = [one for one in entries if isinstance(one, ledger.ClusterLook)] + [look]
    say(f"look {len(looks)}: {count_text(len(nodes), 'node')}; {told}")
    return not _over(looks, watch)


def _over(looks: list[ledger.ClusterLook], watch: ledger.WatchTerms) -> bool:
    times = own_times(looks)[0]
    return bool(times) and (times[-1] - times[0]) * watch.scale >= watch.length_s


def _classify(folder: ledger.WatchFolder, arguments: argparse.Namespace) -> int:
    """Keep who gives an outage which class, and why."""
    name, _, word = arguments.classed.partition("=")
    by, reason = (arguments.by or "").strip(), (arguments.reason or "").strip()
    words = ("vendor", "site", "external", "scheduled", "unknown")
    if word not in words or not by or not reason:
        raise AssayError(
            f"--class {arguments.classed}: write OUTAGE=CLASS with a class of {', '.join(words)},"
            " and --by NAME and --reason TEXT: the ledger keeps both"
        )
    entries = folder.entries()
    ledger.watch_of(entries, folder.path)
    outages = [one.id for one in booked(entries).outages]
    if name not in outages:
        raise AssayError(f"--class: no outage {name!r}; the ledger has {', '.join(outages[:9])}")
    folder.add(ledger.Classed(at=time.time(), outage=name, word=word, by=by, reason=reason))
    say(f"{name} is {word}, says {by}")
    return ExitStatus.PASS


def _report(folder: ledger.WatchFolder, *, as_json: bool) -> int:
    entries = folder.entries()
    ledger.watch_of(entries, folder.path)
    if not any(isinstance(one, ledger.ClusterLook) for one in entries):
        raise AssayError(f"{folder.path}: no look was booked yet")
    result = stability_result(entries)
    show_pages(result, folder.path / "report", as_json=as_json)
    return _STATUS.get(result.answer.state, ExitStatus.PASS) if result.answer else ExitStatus.PASS
