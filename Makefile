# SPDX-License-Identifier: Apache-2.0
# Every entry point of the project; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
ASSAY := .venv/bin/assay
PHYSICS_CC ?= mpicc.mpich
PYTHON ?=
WHEELS ?=
HPL ?=
IMAGE ?=
TESTS := .venv/bin/python -m pytest --numprocesses=auto --maxprocesses=4 --dist=loadscope --no-loadscope-reorder
.DEFAULT_GOAL := help
# Packages before the environment that needs them.
.NOTPARALLEL:

help: ## list every target
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 22

setup: ## the Python environment .venv; needs Python 3.11, no root (WHEELS=FOLDER: no internet)
	@PYTHON="$(PYTHON)" WHEELS="$(WHEELS)" setup/environment.sh

wheels: ## carry this to a site without internet: WHEELS=FOLDER receives all Python packages
	@PYTHON="$(PYTHON)" setup/wheels.sh "$(WHEELS)"

packages: ## Debian packages of all tests and of lint (root), HPL's source; `make demo` needs none
	@setup/packages.sh setup/packages-tests.txt

image-locks: ## resolve the packages of the images of virtual clusters anew (IMAGE=NAME: of one)
	@virtual_cluster/images/lock.sh $(IMAGE)

hpl-source: ## HPL's source to build/sources/: HPL=FILE, or Debian's, or from its home
	@setup/hpl-source.sh $(if $(HPL),"$(HPL)")

demo: ## the main job: set-up, virtual cluster up (IMAGE=NAME: assay image list), campaign quick, report, cluster down
	@IMAGE="$(IMAGE)" PYTHON="$(PYTHON)" WHEELS="$(WHEELS)" setup/demo.sh

test: setup ## the fast tests, and one walk on a virtual cluster; what needs a missing package is skipped
	@$(TESTS) --tier=fast

test-cluster: packages setup ## those on virtual clusters (SHARE=K/N: a share; IMAGE=NAME: what they boot)
	@ASSAY_TEST_IMAGE="$(IMAGE)" $(TESTS) --tier=cluster $(if $(SHARE),--share=$(SHARE))

# A preview changes day by day: where the mirror has dropped a package since, it is resolved anew.
test-image: setup ## the walk of make test on another image: IMAGE=NAME
	@$(ASSAY) image get $(IMAGE) || { $(MAKE) --no-print-directory image-locks && $(ASSAY) image get $(IMAGE); }
	@ASSAY_TEST_IMAGE="$(IMAGE)" .venv/bin/python -m pytest -q -m smoke assay/tests/test_smoke.py

test-all: packages setup ## all tests: three MPI libraries, all looks of pages, kills, installs
	@$(TESTS) --tier=all

test-share: packages setup ## a share of those that make test and make test-cluster leave out: SHARE=K/N
	@$(TESTS) --tier=full --share=$(SHARE)

durations: ## docs/durations.csv anew from what the last make test, test-cluster and test-all left
	@.venv/bin/python setup/tests/durations.py $$(ls -tr build/durations-*.csv) >docs/durations.csv

test-other-processor: packages setup ## the numerical tests as on a processor with fewer vector instructions
	@setup/test-other-processor.sh

test-site: packages setup ## the way of a new user on a foreign Slurm cluster, clone to report (root)
	@setup/packages.sh setup/packages-foreign.txt
	@setup/unpacked.sh environment-modules
	@setup/test-site.sh

check: lint test ## lint, then test: what a change must pass

lint: packages setup ## format, lint, types, shell, YAML, spelling
	@.venv/bin/pre-commit run --all-files

bench: packages setup ## measure the harness itself (overhead a launch, plan and report at scale)
	@.venv/bin/python -m bench

spack: setup ## bring Spack itself, at a pinned release, unless there is one
	@setup/spack.sh

test-spack: packages setup ## build every library with Spack without the web, run campaign quick on them
	@setup/test-spack.sh

physics: ## plaquettes and the square law of the lattice program (about ten minutes)
	@$(MAKE) --no-print-directory -C checks/su3_rmd/src physics CC=$(PHYSICS_CC) OUT=$(abspath build/physics)

doctor: ## missing requirements of this machine, and the command that fixes each
	@$(ASSAY) doctor

schema: setup ## write the JSON Schemas of campaign and criteria files and of machine forms anew, and the keys in docs
	@$(ASSAY) schema > campaigns/campaign.schema.json
	@$(ASSAY) schema contract > plugins/contract/contracts/contract.schema.json
	@$(ASSAY) schema criteria > campaigns/criteria/criteria.schema.json
	@mkdir -p docs/schemas && $(ASSAY) schema forms --out docs/schemas
	@sed -i -e '/^<!-- keys:/,/^<!-- end of keys/{//!d}' -e '/^<!-- keys:/r /dev/stdin' docs/sites.md \
		< <($(ASSAY) schema site --markdown)

pictures: ## README's pictures anew from two runs: CHOICE=RUN ACCEPTANCE=RUN [CRITERIA=NAME]
	@docs/pictures.sh "$(or $(CHOICE),$$(ls -td results/quick/*/ | head -n 1))" \
		"$(or $(ACCEPTANCE),$$(ls -td results/acceptance/*/ | head -n 1))"

picture: ## docs/report.png anew: the head of the newest report of campaign quick
	@docs/picture.sh "$$(ls -td results/quick/*/report | head -n 1)/.."

lock: ## renew requirements.lock from pyproject.toml
	@.venv/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
		--no-emit-index-url --no-emit-find-links --extra develop -o requirements.lock pyproject.toml

clean: ## remove what was built; results/ stay
	@rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache *.egg-info

.PHONY: help pictures setup wheels packages image-locks hpl-source demo test test-cluster test-image test-all test-share durations test-other-processor test-site check lint bench spack test-spack physics doctor schema picture lock clean
