# SPDX-License-Identifier: Apache-2.0
"""Signals that ask a run to end: noted when they come, heeded where the run can end."""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType
from typing import Any

from records.errors import InfrastructureError

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STEP_S = 0.2


class Interruption:
    """While this is entered TERM, INT and HUP end nothing by themselves; one that is ignored, as
    HUP under nohup, stays so. Use from the main thread.
    """

    def __init__(self) -> None:
        self._asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def check(self) -> None:
        """Raise InfrastructureError once a signal has asked the run to end."""
        if self._asked is not None:
            raise InfrastructureError(f"ended by {self._asked.name}; what is done is kept")

    def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until a signal asks the run to end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.check()
            time.sleep(_STEP_S)

    def _note(self, number: int, _: FrameType | None) -> None:
        self._asked = self._asked or signal.Signals(number)

    def __enter__(self) -> Interruption:
        for one in _ENDING:
            if signal.getsignal(one) is not signal.SIG_IGN:
                self._before[one] = signal.signal(one, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | object) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)
