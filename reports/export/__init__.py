# SPDX-License-Identifier: Apache-2.0
"""Runs and histories for monitoring: OpenMetrics and InfluxDB's line protocol."""
