# SPDX-License-Identifier: Apache-2.0
"""What the walks on several clusters share."""

import pytest

from setup.foreign_cluster.tests.walk import Wheels, fetch_wheels


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    """The packages, fetched once."""
    return fetch_wheels(tmp_path_factory.mktemp("packages") / "wheels")
