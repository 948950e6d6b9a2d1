# SPDX-License-Identifier: Apache-2.0
"""Tables, pictures and notation."""
