# SPDX-License-Identifier: Apache-2.0
"""Plugins: what a folder of `plugins/`, or a package that is installed, adds to Assay.

A plugin is one object, `PLUGIN` of its module `plugin.py`. Folders are found by their place,
installed packages by the entry point group `assay.plugins`. What a plugin names is imported when it
is needed.
"""

from __future__ import annotations

from pathlib import Path

#: The folder of plugins that come with Assay.
SHIPPED = Path(__file__).resolve().parent.parent / "plugins"


def section_packages() -> list[str]:
    """Packages of plugins that hold sections of checks, each a module named as its check."""
    found = sorted(SHIPPED.glob("*/sections/__init__.py"))
    return [f"plugins.{path.parent.parent.name}.sections" for path in found]


def check_folders() -> dict[str, Path]:
    """Folders of checks that plugins bring, by the package that each is."""
    found = (path.parent for path in sorted(SHIPPED.glob("*/checks/__init__.py")))
    return {f"plugins.{folder.parent.name}.checks": folder for folder in found}
