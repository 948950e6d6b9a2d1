# SPDX-License-Identifier: Apache-2.0
"""Campaign files: their model, reading them with every fault named, and their JSON Schema."""
