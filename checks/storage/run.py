# SPDX-License-Identifier: Apache-2.0
"""Starts the storage program in a folder of this launch on a target of the site."""

import os
import secrets
from typing import Any

from checks.common.answer import option_words
from checks.common.base import OwnProgram


class Run(OwnProgram):
    """Launch of the storage program; session.sh removes the folder, however the program ends."""

    def command(self) -> list[str]:
        """The program with its parameters, and where it may write how much."""
        definition: Any = self.definition
        target = self.setting.partition["storage"][self.params.target]
        # A name that cannot be guessed; scratch.sh finds what is left over by its beginning.
        folder = f"{target['folder']}/assay-storage-{os.getuid()}-{secrets.token_hex(8)}"
        self.variables["ASSAY_SCRATCH"] = folder
        where = {
            "folder": folder,
            "file-system": target["file_system"],
            "local": not target["shared"],
            "limit-bytes": definition.bytes_stored(self.params),
        }
        return [*super().command(), *option_words(where)]
