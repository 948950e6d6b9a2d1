# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that tests drive over a pipe: pages at any width, theme and medium."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from reports.render.files import find_browser


class Browser:
    """One browser with one page; commands of the DevTools protocol, answered in order."""

    def __init__(self, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        argv = [str(find_browser()), "--headless=new", "--disable-gpu", "--remote-debugging-pipe"]
        argv += ["--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={profile}"]
        argv += ["--no-sandbox"] if os.geteuid() == 0 else []
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *argv, "about:blank"],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        #: Pages that are there, by the loader of each.
        self._loaded = set[str]()
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(item["targetId"] for item in targets if item["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command. Raises RuntimeError with what the browser says against it."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        told = message.get("params", {})
        if message.get("method") == "Page.lifecycleEvent" and told["name"] == "load":
            self._loaded.add(told["loaderId"])
        return message

    def open(self, page: Path) -> None:
        """Load a page and wait until it is there, which may be told before the answer."""
        loader = self.call("Page.navigate", url=page.as_uri())["loaderId"]
        while loader not in self._loaded:
            self._message()

    def look(self, width: int, theme: str = "light", medium: str = "screen") -> None:
        """Be so wide, in this theme and medium."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        how = {"returnByValue": True, "awaitPromise": True}
        done = self.call("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in done:
            raise RuntimeError(str(done["exceptionDetails"]))
        return done["result"].get("value")

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is seen, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._to)
        self._process.terminate()
        self._process.wait(300)
        os.close(self._from)
