"""Chromium, driven through its DevTools protocol."""

import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

# The first is the same browser without all that is for a window: it takes two thirds of the processor time. By its path, since
# Debian's `chromium-headless-shell` is a script: the browser would live on when that is killed.
BROWSERS = ["/usr/lib/chromium/chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


class Tab:
    """A page of a browser."""

    def __init__(self, address):
        self.address = address
        self.socket = connect(address, max_size=None)
        self.numbers = itertools.count(1)
        self.events = []
        self.session = None
        self.url = None
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log", "Accessibility"]:
            self.call(f"{domain}.enable")
        # Each is drawn, and takes keys, as if it were the one in front.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv(timeout=120))
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait(self, name):
        """The next event of that name."""
        while True:
            for event in self.events:
                if event["method"] == name:
                    self.events.remove(event)
                    return event["params"]
            self.events.append(json.loads(self.socket.recv(timeout=120)))

    def open(self, url):
        page = url.split("#")[0]
        self.events.clear()
        # A page that differs in its fragment alone would not be loaded again.
        if page == self.url:
            self.call("Page.navigate", url="about:blank")
            self.wait("Page.loadEventFired")
            self.events.clear()
        self.url = page
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def value(self, expression):
        """The value of an expression of the page's script."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", expression))
        return result["result"].get("value")

    def key(self, name, code=None, text=None):
        keys = {"Home": 36, "End": 35, "ArrowLeft": 37, "ArrowRight": 39, " ": 32, "Enter": 13, "/": 191, "+": 187, "-": 189}
        event = {"key": name, "code": code or name, "windowsVirtualKeyCode": keys.get(name, 0)}
        if text:
            event["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def settle(self):
        """Returns when the page has been drawn again."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def complaints(self, within=None):
        """What the page has complained of, and what it has asked others for: those whose URLs do not begin with `within`."""
        self.call("Runtime.evaluate", expression="0")
        found = []
        for event in self.events:
            name, parameters = event["method"], event["params"]
            if name == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif name == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(f"console: {parameters['args']}")
            elif name == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {parameters['entry']['text']} {parameters['entry'].get('url', '')}")
            elif name == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                isOwn = url.startswith(within) if within else url == parameters["documentURL"]
                if not isOwn and not url.startswith("data:"):
                    found.append(f"asks for {url}")
        return found


class Browser(Tab):
    """A browser without a window, with a page."""

    def __init__(self, profile):
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        if program is None:
            raise SystemExit("There is no Chromium.")
        profile = Path(profile)
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--disable-renderer-backgrounding",
             "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling", "--remote-debugging-port=0",
             "--remote-allow-origins=*", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "NO_AT_BRIDGE": "1"})
        port, path = self._address(profile / "DevToolsActivePort")
        # The page that it begins with comes some time after the browser listens.
        super().__init__(f"ws://127.0.0.1:{port}{path}")

    def tab(self):
        """Another page, which another thread may drive."""
        return Tab(self.address)

    def _address(self, file):
        # The file is there once the browser listens.
        while not (file.exists() and file.read_text().count("\n")):
            if self.process.poll() is not None:
                raise SystemExit("Chromium has ended.")
            time.sleep(0.02)
        return file.read_text().splitlines()[:2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.kill()
        self.process.wait()
