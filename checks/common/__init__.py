# SPDX-License-Identifier: Apache-2.0
"""What checks share: definitions, launch, evidence, the reader of our programs' lines."""
