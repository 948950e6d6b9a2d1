# SPDX-License-Identifier: Apache-2.0
"""Refuses to measure what Spack has not built, or has built from other C sources."""

from __future__ import annotations

from collections.abc import Iterable

from assay.build.our_packages import sources_digest
from assay.sites.site import Site
from records.errors import InfrastructureError


def refuse_stale_builds(site: Site, environments: Iterable[str]) -> None:
    """Raise InfrastructureError unless each environment of Spack's is complete and current."""
    facts = {name: site.spack_facts(name) for name in environments}
    built = {name: known for name, known in facts.items() if known is not None}
    if not built:
        return
    digest = sources_digest()
    stale = sorted(name for name, known in built.items() if known["sources"] != digest)
    if stale:
        raise InfrastructureError(
            f"site {site.name}: Spack built {', '.join(stale)} from other C sources than the"
            f" checkout has now. Run: assay build --site {site.name}"
        )
