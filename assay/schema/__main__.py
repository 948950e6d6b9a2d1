# SPDX-License-Identifier: Apache-2.0
"""Writes the shipped JSON Schema of campaign files again."""

from assay.schema.json_schema import SCHEMA_FILE, schema_text

if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
