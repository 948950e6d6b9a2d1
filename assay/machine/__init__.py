# SPDX-License-Identifier: Apache-2.0
"""What `--json` prints: a versioned form a command, described by a JSON Schema."""
