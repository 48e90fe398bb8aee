"""A headless Chromium, driven by its DevTools protocol.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.support.children import PATIENCE_S
from tests.support.programs import BROWSERS
from tests.support.waiting import wait_until

OPTIONS = (
    *("--headless", "--remote-debugging-port=0", "--disable-gpu", "--no-first-run"),
    *("--hide-scrollbars", "--disable-background-networking", "--disable-component-update"),
    "--no-sandbox",  # root in a container has none, and the pages are our own
)


class Chromium:
    """A browser at the other end of a connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._number = count(1)
        self._events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        number = next(self._number)
        of_session = {"sessionId": session} if session else {}
        command = {"id": number, "method": method, "params": parameters, **of_session}
        self._connection.send(json.dumps(command))
        while (message := self._next()).get("id") != number:
            self._events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def wait_for(self, method: str, session: str) -> None:
        """Wait for an event of a session."""
        while not self.events(method, session):
            self._events.append(self._next())

    def events(self, method: str, session: str) -> list[dict[str, Any]]:
        """The parameters of all such events of a session so far."""
        mine = [each for each in self._events if each.get("sessionId") == session]
        return [each["params"] for each in mine if each.get("method") == method]

    def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._connection.recv(PATIENCE_S))
        return message


class Page:
    """A page that is open at some width, in a colour scheme and a medium."""

    def __init__(
        self, browser: Chromium, file: Path, width: int, scheme: str = "light", media: str = ""
    ) -> None:
        self._browser = browser
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Accessibility"):
            self.ask(f"{domain}.enable")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1}
        self.ask("Emulation.setDeviceMetricsOverride", mobile=width < 600, **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)
        self.ask("Page.navigate", url=file.as_uri())
        browser.wait_for("Page.loadEventFired", self._session)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command that is about this page."""
        return self._browser.ask(method, self._session, **parameters)

    def value_of(self, expression: str) -> Any:
        """The value of a JavaScript expression, also in a page that allows no scripts."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def requests(self) -> list[str]:
        """The addresses of everything that the page has requested, itself first."""
        sent = self._browser.events("Network.requestWillBeSent", self._session)
        return [each["request"]["url"] for each in sent]

    @property
    def heard(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader announces."""
        nodes = self.ask("Accessibility.getFullAXTree")["nodes"]
        announced = [node for node in nodes if not node["ignored"]]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in announced]

    def screenshot(self) -> bytes:
        """The visible part of the page, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])


@contextmanager
def chromium(profile: Path) -> Iterator[Chromium]:
    """A browser with its own profile, for tests that are marked with `needs("chromium")`."""
    found = next(filter(None, map(shutil.which, BROWSERS)))
    with subprocess.Popen(
        [found, *OPTIONS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        place = profile / "DevToolsActivePort"  # of two lines: a port and a path
        try:
            wait_until(lambda: place.exists() and "/" in place.read_text())
            port, path = place.read_text().split()
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as connection:
                browser = Chromium(connection)
                yield browser
                browser.ask("Browser.close")
                process.wait(PATIENCE_S)
        finally:
            process.kill()
