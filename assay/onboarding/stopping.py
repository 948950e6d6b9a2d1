# SPDX-License-Identifier: Apache-2.0
"""Signals that end a proof: its jobs are cancelled and its folder removed on the way out."""

from __future__ import annotations

import signal
import time
from types import FrameType
from typing import Any, NoReturn

from records.errors import InfrastructureError


class Stopping:
    """While this is entered TERM, INT and HUP raise an InfrastructureError wherever the program is.

    Once: a second signal does not disturb the tidying up.
    """

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Stopping:
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(one) is not signal.SIG_IGN:
                self._before[one] = signal.signal(one, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)

    def _stop(self, number: int, _: FrameType | None) -> NoReturn:
        for one in self._before:
            signal.signal(one, signal.SIG_IGN)
        name = signal.Signals(number).name
        raise InfrastructureError(f"ended by {name}; its jobs are cancelled, nothing is written")

    @staticmethod
    def pause(seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)
