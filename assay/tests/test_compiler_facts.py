# SPDX-License-Identifier: Apache-2.0
"""A run's provenance has the compiler of the place where its programs are compiled."""

import pytest
from msgspec import structs

from assay.probe.reading import TrialResult
from assay.run.provenance import environment_as_run, with_facts
from assay.sites.site_file import read_description
from assay.sites.slurm import SlurmSite
from assay.tests.test_stored_run import RUN
from records.run.run_directory import RunDirectory

ON_NODE = TrialResult(name="mpich", compiler_version="cc of the node", compiles_with="cc -node")


@pytest.mark.parametrize(
    ("build_on", "version", "words"),
    [("login", "cc of the login node", "cc -login"), ("job", "cc of the node", "cc -node")],
)
def test_the_compiler_is_that_of_the_place_of_the_builds(tmp_path, build_on, version, words):
    compiler = tmp_path / "mpicc"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = -show ] && echo "cc -login" || echo "cc of the login node"\n'
    )
    compiler.chmod(0o755)
    described = read_description("virtual").model_copy(update={"build_on": build_on})
    mpich = described.environments["mpich"].model_copy(update={"compiler": str(compiler)})
    site = SlurmSite(described.model_copy(update={"environments": {"mpich": mpich}}))
    run = RunDirectory(RUN).provenance()
    known = structs.replace(run, environments={"mpich": environment_as_run(site, "mpich")})
    found = with_facts(known, {}, {"mpich": ON_NODE}).environments["mpich"]
    assert (found.compiler_version, found.compiles_with) == (version, words)
