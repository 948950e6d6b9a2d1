# SPDX-License-Identifier: Apache-2.0
"""A stability phase: outages from looks, availability, mean times, and the promise judged."""
