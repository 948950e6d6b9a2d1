# SPDX-License-Identifier: Apache-2.0
"""Builds of a run that failed, and the launches of their environments, which are not run."""

from __future__ import annotations

from collections.abc import Collection

from assay.run.coming import Launch
from checks.common.session.outcome import BuildFailure
from records.run_directory import RunDirectory


class FailedBuilds:
    """What failed builds printed, kept in the run directory, and which launches they keep back."""

    def __init__(self, run: RunDirectory, environments: Collection[str]) -> None:
        self._run, self._environments = run, environments
        self._failures: dict[str, list[BuildFailure]] = {}
        self._kept_back: dict[str, set[tuple[str, int]]] = {}

    def keep(self, failure: BuildFailure) -> str | None:
        """Keep what the build printed; gives a sentence of it, None if no launch needs it."""
        if failure.environment not in self._environments:
            return None
        failures = self._failures.setdefault(failure.environment, [])
        failures.append(failure)
        log = "\n".join(f"# {one.program}\n{one.output}" for one in failures)
        file = self._run.keep_build_log(failure.environment, log)
        return f"the build of {failure.program} for {failure.environment} failed; see {file}"

    def keep_back(self, launch: Launch) -> bool:
        """Whether a build of the launch's environment failed; then it is not run again either."""
        if launch.environment not in self._failures:
            return False
        self._kept_back.setdefault(launch.environment, set()).add(launch.key)
        return True

    @property
    def launches(self) -> set[tuple[str, int]]:
        """The launches that are kept back."""
        return set().union(*self._kept_back.values())

    def told(self) -> list[str]:
        """A sentence for each environment whose launches were not run."""
        return [
            f"{len(launches)} launches of {environment} were not run, for its build of"
            f" {', '.join(one.program for one in self._failures[environment])} failed; what it"
            f" printed is in {self._run.build_log(environment)}"
            for environment, launches in sorted(self._kept_back.items())
        ]
