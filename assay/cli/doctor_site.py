# SPDX-License-Identifier: Apache-2.0
"""`assay doctor --site SITE`: what this machine and the site lack."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator

from assay.cli.doctor import tell
from assay.doctor import Finding, machine_findings
from assay.sites.loading import load_site
from records.errors import AssayError


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; gives the exit status."""
    findings = [*machine_findings(), *site_findings(arguments.site)]
    return tell(findings, as_json=arguments.json)


def site_findings(site_name: str) -> Iterator[Finding]:
    """Whether the site is there, and the compiler of each of its environments."""
    try:
        site = load_site(site_name)
    except AssayError as error:
        yield Finding(f"site {site_name}", False, str(error), "assay cluster up")
        return
    yield Finding(f"site {site_name}", True, f"{site.facts().nodes} nodes", "")
    for name, environment in site.description.environments.items():
        where = shutil.which(environment.compiler)
        if environment.spack_view and where is None:
            # Optional unless requested: not missing on this machine.
            seen = f"not built by Spack; assay build --site {site.name} does it"
            yield Finding(f"environment {name}", True, seen, "")
            continue
        packages = " ".join(environment.packages)
        remedy = f"apt-get install {packages}" if packages else "see the site's site.yaml"
        yield Finding(f"environment {name}", where is not None, where or "", remedy)
