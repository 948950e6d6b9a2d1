# SPDX-License-Identifier: Apache-2.0
"""The table of commands: help, arguments, and what does the work, which is loaded when called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.cli import arguments as shared
from assay.cli.arguments import JSON, Argument, argument, flag, pictures, repeated, site
from checks.common.sources import FURTHER_CHECKS
from records.history import DEFAULT_HISTORY, IMPORTED_HISTORY

#: The formats of a report, as `assay.documents.report` writes them; loading that takes a second.
REPORT_FORMATS = ("html", "md", "csv", "junit", "json", "parquet", "pdf")
#: The kinds of raw files, as in `records.run.run_directory.RAW_SUFFIX`.
RAW_KINDS = ("script", "stdout", "stderr")
#: What starts a night, as in `assay.nightly.schedule.KINDS`.
SCHEDULES = ("systemd", "scrontab", "cron")
EXPORT_FORMATS = ("openmetrics", "influx")


@dataclass(frozen=True)
class Command:
    """A command: its help, and "module:function" in assay.cli, or by its whole name, which does the
    work.

    One with commands `below` it does nothing itself. `declare` names a function of another package
    that declares its arguments, "module:function".
    """

    text: str
    run: str = ""
    arguments: Sequence[Argument] = ()
    below: Mapping[str, Command] = field(default_factory=dict)
    metavar: str = "COMMAND"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    declare: str = ""


def _command(text: str, run: str, *arguments: Argument, **defaults: Any) -> Command:
    return Command(text, run, arguments, defaults=defaults)


_LATEST = "default: the one added last"
_NOTIFY = flag("--notify", "tell those whom the history names (docs/monitoring.md)")
_WHOSE = (argument("--campaign CAMPAIGN", _LATEST), site(None, _LATEST))
_STARTED = (
    argument(
        "--contract FOLDER", "a started contract, or how it begins; default: the one started last"
    ),
    JSON,
)
_BY = argument("--by NAME", "who decides")
_ONLY = "of a history only this one; default: all"
_HISTORY_OR_IMPORTED = argument(
    "--history", f"default: {IMPORTED_HISTORY} if it is there, else {DEFAULT_HISTORY}", type=Path
)
_NIGHT = (
    argument("--campaign CAMPAIGN", "a name in campaigns/ or a file", default="nightly"),
    site(),
    shared.CHECKS,
)

_SHARE: dict[str, Any] = {"type": shared.share, "metavar": "SHARE"}


def _span(name: str, text: str, key: str = "") -> Argument:
    """An option whose value is a time, in s."""
    dest = key or f"{name}_s"
    return argument(f"--{name}", text, dest=dest, type=shared.span_s, metavar="TIME")


_WATCH = (
    site(),
    argument("--folder DIR", "of the phase; default: results/stability/SITE", type=Path),
    flag("--once", "book one look, for a timer or scrontab"),
    _span("every", "time between looks; without --once book until the end"),
    _span("for", "length of the phase, e.g. 30d", "length_s"),
    argument("--scale", "contract time that passes in a second; 720: a day in 2 min", type=float),
    repeated("--partition", "watch only nodes of this one; may be repeated", dest="partitions"),
    repeated("--file-system DIR", "also write a file there; may be repeated", dest="file_systems"),
    _span("probe", "keep a job of one node running that long in real time"),
    argument("--availability", "what is promised, e.g. 99%%", **_SHARE),
    _span("mtbi", "mean time between interrupts that is promised, e.g. 720h"),
    _span("mtti", "mean time between killed jobs that is promised"),
    argument("--up-share", "nodes with which the machine counts as up; default: 90%%", **_SHARE),
    argument("--interrupt-share", "nodes that an interrupt takes at least; default: any", **_SHARE),
    argument("--class OUTAGE=CLASS", "who answers for an outage", dest="classed"),
    argument("--by NAME", "who says so"),
    argument("--reason", "why"),
    JSON,
)

COMMANDS: dict[str, Command] = {
    "doctor": _command(
        "missing requirements, and the command that fixes each",
        "doctor:doctor_command",
        argument("--site SITE", "check what this site needs"),
        JSON,
    ),
    "init": _command(
        "lay out a folder for the sites and campaigns of your own",
        "site:folder_command",
        argument("folder FOLDER", "made if it is not there", type=Path),
    ),
    "campaigns": _command("list campaigns, and what each asks", "campaign:campaigns_command", JSON),
    "checks": _command(
        "list checks, and what each measures; with CHECK all of one; or a ReFrame suite",
        "checks:checks_command",
        argument("name CHECK", "explain this one", nargs="?"),
        argument(
            "files FILE",
            "after the word try, CAMPAIGN[:NAME] and a captured output: what the expressions of"
            " a campaign's command catch in it",
            nargs="*",
        ),
        argument(
            "--reframe PATH",
            "list the test classes of a ReFrame suite, a folder or a file, each file by a process"
            " of its own with your rights",
            type=Path,
        ),
        site(None, "say which classes this site can run"),
        repeated("--env NAME=VALUE", "a variable that the suite's files read; may be repeated"),
        flag("--network", "let the suite's files use the network while they are loaded"),
        shared.CHECKS,
        JSON,
    ),
    "cluster": Command(
        "a virtual Slurm cluster on this machine", declare="virtual_cluster.command:add_arguments"
    ),
    "site": Command(
        "write a site's configuration, or prove it again",
        metavar="ACTION",
        below={
            "init": _command(
                "ask Slurm and you, prove the answers by jobs, write site-config/NAME/site.yaml",
                "site:init_command",
                argument("name NAME", "default: Slurm's cluster name", nargs="?"),
                flag("--yes", "accept detected defaults without prompting"),
                argument("--account", "Slurm account of the jobs"),
                argument("--qos", "QOS of the jobs"),
                repeated("--access OPTION", "further sbatch option"),
                repeated("--partition", "only this partition; may be repeated"),
                argument("--environments LIST", "only these, with commas between"),
                argument("--work-dir DIR", "folder that all nodes see"),
                flag("--overwrite", "replace a site.yaml that exists"),
                JSON,
            ),
            "check": _command(
                "repeat the proof of a site, and name what changed",
                "site:check_command",
                argument("site SITE", "a folder of site-config/"),
                flag("--accept", "keep what is there now as the proof"),
                JSON,
            ),
        },
    ),
    "vet": _command(
        "whether nodes are fit, in a minute: facts and figures against their peers and before",
        "assay.vet.command:vet_command",
        argument("nodes NODE", "a node, or nodes as n[1-3]; each gets a job", nargs="*"),
        flag("--local", "this node, without Slurm"),
        flag("--job", "the nodes of the job that this is called in: lists of good and bad ones"),
        site(None, "a folder of site-config/, for NODE and for the policy of --drain"),
        argument("--steps LIST", "only these, with commas between; default: all"),
        argument("--budget SECONDS", "of a node, without the link; default: 30", type=float),
        argument("--disk DIR", "folder of the step disk", type=Path, default=Path("/tmp")),  # noqa: S108
        argument("--folder DIR", "records and reference; default: results/vettings", type=Path),
        flag("--reference", "vet five times, and make the reference that later ones are judged by"),
        argument(
            "--accepted RUN",
            "take the nodes that an acceptance passed as peers, STREAM if measured alike",
        ),
        flag("--drain", "drain what is unfit and resume what is fit again, as the site allows"),
        flag("--by-slurm", "with --local: one line, and status 0, which drains no node"),
        flag("--unkept", "with --local --json: the caller keeps the record"),
        argument("--neighbour NODE", "the other end of the link, or two; they run --answer"),
        argument("--answer SECONDS", "answer a neighbour's step link, so long", type=float),
        argument("--port", "of the link", type=int, default=28571),
        JSON,
    ),
    "profile": _command(
        "what an application asks of MPI: calls, sizes, ranks, time, wait; in one small file",
        "assay.profile.command:profile_command",
        argument("words WORD", "after --: a launcher, its options, the program", nargs="*"),
        argument("--output FILE", "default: profile.json", type=Path),
        argument("--show FILE", "say what is in a profile, or in a report of mpiP", type=Path),
        argument("--run RUN", "of a run's case with `mpi_profile: true`", dest="run_name"),
        argument("--case CASE", "with --run: how the id of the case begins, or its environment"),
        argument("--mpicc CC", "compiler of the program's MPI library; default: found"),
        argument(
            "--folder DIR",
            "where the ranks write meanwhile, seen by all nodes; default: here",
            type=Path,
            default=Path(),
        ),
        flag("--keep", "keep the ranks' files"),
        JSON,
    ),
    "build": _command(
        "build a site's MPI libraries and our programs on each",
        "build:build_command",
        site(),
        argument(
            "--environments", "only these, e.g. lam-spack,mpich-spack; default: all", default=""
        ),
        argument(
            "--with",
            "spack (default); distribution: its packages, which apt-get installs",
            dest="builder",
            choices=["spack", "distribution"],
            default="spack",
        ),
        repeated(
            "--source NAME=DIR",
            "build package NAME from this folder, not from what its recipe fetches; repeatable",
        ),
        flag("--offline", "sources from the mirror only"),
        flag("--anew", "choose all versions anew, not by lock"),
        argument("--jobs", "at once; default: one a core", type=int, default=0),
    ),
    "mirror": Command(
        "the source mirror, for builds without the web",
        metavar="ACTION",
        below={
            "create": _command(
                "fill the mirror; checksums are verified",
                "build:mirror_command",
                site(),
                argument(
                    "--from",
                    "the distribution's source packages (default), or each recipe's own place",
                    dest="origin",
                    choices=["distribution", "web"],
                    default="distribution",
                ),
            )
        },
    ),
    "plan": _command(
        "what would run on a site, and what it costs",
        "campaign:plan_command",
        *(shared.MAYBE_CAMPAIGN, site(), *shared.NARROWING, shared.BUILDER),
        argument("--measured RUN", "judge by this run's times which launches are too short"),
        argument(
            "--criteria CRITERIA",
            "also what judging it by these criteria risks: how often a good machine does not"
            " pass, and a bad one does",
        ),
        JSON,
    ),
    "run": _command(
        "run a campaign on a site, or go on with a run",
        "campaign:run_command",
        shared.MAYBE_CAMPAIGN,
        site(
            None,
            f"a folder of site-config/; default: {shared.DEFAULT_SITE}, or where the resumed"
            " run began",
        ),
        *shared.NARROWING,
        argument(
            "--resume RUN", "go on with this run; with --blocks N, add N blocks to one that ended"
        ),
        argument(
            "--until",
            "with --resume: add blocks until what the campaign asks is known, at most --blocks;"
            " default: as many as the run has",
            choices=["decided"],
        ),
        flag("--plain", "plain lines even on a terminal"),
        flag("--no-report", "write no report at the end"),
        *(JSON, shared.BUILDER),
        flag(
            "--in-one-job",
            "ask Slurm once for nodes, and run all launches there as steps; inside a job with"
            " enough nodes (salloc, a batch script) that is always so",
        ),
        argument(
            "--time TIME",
            "with --in-one-job: how long to hold the nodes, in minutes or as [D-]HH:MM:SS; when"
            " it is used up they are asked for again; default: what the plan needs",
            type=shared.length_s,
        ),
    ),
    "status": _command(
        "progress, failures, time left of a run", "status:status_command", shared.NEWEST, JSON
    ),
    "raw": _command(
        "the raw output of one launch, proven against its record",
        "status:raw_command",
        argument("case CASE", "a case's name or id, or how one of them begins"),
        argument("block BLOCK", "from 1", type=int),
        argument("environment ENVIRONMENT", "where several cases begin so", nargs="?"),
        argument("--run RUN", "a run; default: the newest", dest="run_name"),
        argument("--attempt", "default: the latest", type=int),
        argument("--only", "this file, byte by byte, and nothing else", choices=RAW_KINDS),
        JSON,
    ),
    "report": _command(
        "tables, plots and verdicts of a run",
        "report:report_command",
        shared.NEWEST,
        argument("--format", None, action="append", choices=REPORT_FORMATS),
        argument("--out", "folder; default: RUN/report", type=Path),
        pictures("of the page", only=True),
        repeated(
            "--checks DIR",
            "a folder of checks outside the tree, for the report.py that they bring; may be"
            f" repeated; {FURTHER_CHECKS} names more",
            type=Path,
        ),
        JSON,
    ),
    "compare": _command(
        "two runs of one campaign side by side",
        "compare:compare_command",
        argument("run_a RUN", "without any it is listed which runs are alike", nargs="?"),
        argument("run_b RUN", "default: the newest other run of the campaign", nargs="?"),
        flag("--all", "every value, what is not resolved too"),
        argument("--html FILE", "also write it as a page", type=Path),
        argument("--markdown FILE", "also write it as Markdown", type=Path),
        *(pictures("of the page"), shared.HISTORY, JSON),
    ),
    "paper": _command(
        "a published study compared with a run: tables, figures, claims",
        "compare:paper_command",
        argument(
            "study STUDY",
            "a year, as 2003, a name, as ornl-1996, or a folder with a study.yaml; without it they"
            " are listed",
            nargs="?",
        ),
        argument("run_name RUN", "default: the newest of the study's campaign", nargs="?"),
        argument("--output DIR", "default: RUN/paper", type=Path),
        *(pictures("of the document"), JSON),
    ),
    "predict": _command(
        "time on node counts that a run did not measure",
        "predict:predict_command",
        shared.NEWEST,
        repeated("--nodes N", "may be repeated", type=int),
        repeated(
            "--leave-out N",
            "predict this measured node count from the others, against the measurement; may be"
            " repeated",
            type=int,
        ),
        repeated("--environment NAME", "may be repeated"),
        repeated("--check NAME", "predict su3_rmd, hpl or collectives alone; may be repeated"),
        argument("--pictures DIR", "write pictures into DIR, as SVG and PNG", type=Path),
        JSON,
    ),
    "advise": _command(
        "which environment an application should use, from its MPI profile and a run's curves",
        "predict:advise_command",
        argument("profile PROFILE", "a file of `assay profile`, or a report of mpiP", type=Path),
        argument("--run RUN", f"{shared.RUN}; default: the newest with curves", dest="run_name"),
        argument("--sizes FACTOR", "messages so many times as long", type=float, default=1.0),
        argument("--ranks N", "as much a rank on so many ranks", type=int),
        argument("--environment NAME", "of the profile, where it does not say it"),
        argument("--html FILE", "also write it as a page", type=Path),
        argument("--markdown FILE", "also write it as Markdown", type=Path),
        *(pictures("of the page"), JSON),
    ),
    "accept": _command(
        "acceptance verdict and document of a run",
        "accept:accept_command",
        argument("run_name RUN", f"{shared.RUN}; without it those that fit are listed", nargs="?"),
        argument(
            "--criteria CRITERIA",
            "a name in campaigns/criteria/ or a file; default: those of the last judgement,"
            " else those that the campaign names",
        ),
        flag(
            "--rerun",
            "run what is undecided again on the site and judge again, until it is decided or"
            " reruns_at_most of the criteria are done",
        ),
        repeated(
            "--with RUN",
            "a run of the acceptance/rerun.yaml that was written before",
            dest="reruns",
        ),
        argument(
            "--sign KEY",
            "sign SHA256SUMS of the folder with this private key (ssh-keygen -Y sign)",
            type=Path,
        ),
        pictures("of the document"),
        site(None, "where to re-run; default: where the run was made"),
        *(shared.CHECKS, JSON),
    ),
    "acceptance": Command(
        "an acceptance as a contract has it: stages, waivers, signatures, one document",
        metavar="ACTION",
        below={
            "watch": _command(
                "book outages: one look, or look after look; without either judge what is booked",
                "assay.stability.command:watch_command",
                *_WATCH,
            ),
            "start": _command(
                "what a contract's stages risk, and its folder; runs nothing yet",
                "assay.contracts.commands:start_command",
                argument("name CONTRACT", "a name in campaigns/acceptance/, or a file"),
                *(site(), JSON),
            ),
            "status": _command(
                "the stages, what is open, waived and signed, and the command that comes next",
                "assay.contracts.commands:status_command",
                *_STARTED,
            ),
            "next": _command(
                "run the next stage, or go on with the one that was killed",
                "assay.contracts.commands:next_command",
                argument("stage STAGE", "this one, once more; both attempts are kept", nargs="?"),
                *_STARTED,
            ),
            "waive": _command(
                "accept all the same what is not met, by name and reason",
                "assay.contracts.commands:waive_command",
                argument("stage STAGE", "the stage"),
                argument("criterion CRITERION", "default: all that are not met", nargs="?"),
                argument("--subject", "only for this node, or pair of nodes as n1-n2"),
                argument("--until", "the last day on which it holds; default: in a year"),
                *(_BY, argument("--reason", "why"), *_STARTED),
            ),
            "sign": _command(
                "sign a stage, or the whole contract, as it is now",
                "assay.contracts.commands:sign_command",
                argument("stage STAGE", "default: the whole contract", nargs="?"),
                argument("--role", "for which party of the contract", required=True),
                argument("--reason", "a remark"),
                argument(
                    "--key",
                    "also write the document, and sign its SHA256SUMS with this private key"
                    " (ssh-keygen -Y sign)",
                    type=Path,
                ),
                *(_BY, *_STARTED),
            ),
            "report": _command(
                "write the document for those who sign, and the evidence for the vendor",
                "assay.contracts.commands:report_command",
                *_STARTED,
            ),
        },
    ),
    "verify": _command(
        "recompute checksums and verdicts of an acceptance",
        "verify:verify_command",
        argument(
            "target DOCUMENT|RUN|CONTRACT",
            "a document, its run, or a contract's folder; default: the newest judged run",
            nargs="?",
        ),
        argument("--run RUN", "the run of the document", dest="run_name"),
        argument("--seal", "the seal on the signed paper, eight digits or more"),
        argument("--signers FILE", "allowed signers, as ssh-keygen(1) has them", type=Path),
        *(shared.CHECKS, JSON),
    ),
    "nightly": Command(
        "the nightly run and its schedule",
        below={
            "run": _command(
                "run the campaign, add it to the history, judge it",
                "nightly:run_command",
                *_NIGHT,
                shared.HISTORY,
                *shared.JUDGING,
                rerun=True,
            ),
            "install": _command(
                "show a schedule, and with --yes write it",
                "nightly:install_command",
                argument("--with", "what starts it", dest="kind", required=True, choices=SCHEDULES),
                *_NIGHT,
                argument("--at", "when it starts, e.g. 02:30", default="02:30"),
                flag("--yes", "write it; without, it is only shown"),
                flag("--remove", "remove the schedule"),
            ),
        },
    ),
    "history": Command(
        "nightly series: is tonight worse, since when",
        below={
            "add": _command(
                "add a run to the history",
                "history:add_command",
                *(shared.HISTORY, shared.NEWEST),
                argument("--rerun-of RUN", "it ran suspicious cases of this run again"),
                flag("--elsewhere", "and did so on other nodes"),
                JSON,
            ),
            "import": _command(
                "take in performance logs, reports or the database of ReFrame",
                "history:import_command",
                argument("paths PATH", "a file, or a folder of such", type=Path, nargs="+"),
                argument(
                    "--history",
                    f"default: {IMPORTED_HISTORY}",
                    type=Path,
                    default=IMPORTED_HISTORY,
                ),
                argument(
                    "--zone ZONE",
                    "of times without one, e.g. Europe/Zurich; default: this machine's",
                ),
                JSON,
            ),
            "report": _command(
                "one page: changes, noise, references, slow nodes, flaky tests",
                "history:report_command",
                _HISTORY_OR_IMPORTED,
                argument("--campaign CAMPAIGN", _ONLY),
                site(None, _ONLY),
                argument("--out", "folder of the page; default: next to the history", type=Path),
                JSON,
            ),
            "check": _command(
                "judge the nights not judged yet",
                "history:check_command",
                shared.HISTORY,
                *_WHOSE,
                *shared.JUDGING,
                *(shared.CHECKS, _NOTIFY),
            ),
            "silent": _command(
                "whether a night did not come",
                "history:silent_command",
                shared.HISTORY,
                argument(
                    "--after TIME",
                    "silent from so long on; default: %(default)s",
                    default="36h",
                    type=shared.span_s,
                ),
                _NOTIFY,
                argument("--campaign CAMPAIGN", "default: all"),
                site(None, "default: all"),
                JSON,
            ),
            "show": _command(
                "what the history holds",
                "history:show_command",
                shared.HISTORY,
                *_WHOSE,
                flag("--changes", "the changes that were found"),
                JSON,
            ),
            "accept-change": _command(
                "take changes as the new reference",
                "history:accept_command",
                shared.HISTORY,
                argument("changes CHANGE", "as check names it", type=int, nargs="+"),
                argument("--author", "who accepts; default: the user's name"),
                argument(
                    "--reason", "why the change is accepted; prompted for on a terminal if omitted"
                ),
                JSON,
            ),
        },
    ),
    "export": _command(
        "a run or a history for Prometheus, InfluxDB or ReFrame",
        "export:export_command",
        argument(
            "source RUN",
            "a run directory, a run id, or a history; `references`: those that an imported history"
            f" supports; default: {DEFAULT_HISTORY}",
            nargs="?",
            default=str(DEFAULT_HISTORY),
        ),
        argument(
            "--format", "default: %(default)s", choices=EXPORT_FORMATS, default=EXPORT_FORMATS[0]
        ),
        flag("--reframe", "ReFrame's report and performance logs of a run; default: RUN/reframe"),
        _HISTORY_OR_IMPORTED,
        flag("--every", "of a run all metrics, not the deciding ones alone"),
        argument("--campaign CAMPAIGN", _ONLY),
        site(None, _ONLY),
        argument(
            "--output FILE",
            "write it there, whole or not at all; references as .py, .yaml or .json; with --reframe"
            " a folder",
            type=Path,
        ),
    ),
    "schema": _command(
        "the JSON Schema of what people write, or of what --json prints",
        "schema:schema_command",
        argument(
            "of OF",
            "campaign (the default), contract, criteria, site, or a form; `forms` lists those",
            nargs="?",
            default="campaign",
        ),
        flag(
            "--markdown", "the keys of a site.yaml, or of a form, as tables in place of the schema"
        ),
        shared.CHECKS,
    ),
    "completion": _command(
        "completion for bash and zsh",
        "completion:completion_command",
        argument(
            "of bash|zsh",
            "the script, for: source <(assay completion bash); the script itself also asks for"
            f" {', '.join(shared.NAMED.values())}",
            choices=["bash", "zsh", *shared.NAMED.values()],
        ),
    ),
}
