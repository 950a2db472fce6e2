"""A browser without a window, driven by the DevTools protocol over a pair of pipes."""

import base64
import itertools
import json
import os
import select
import subprocess
import tempfile
import time


class BrowserError(Exception):
    """The browser refused a command, or a script in the page threw."""


class Browser:
    """One tab of a Chromium that was started for it, and what its pages complained about."""

    def __init__(self, program="chromium"):
        self.complaints = []
        self._profile = tempfile.TemporaryDirectory(prefix="imgd-page-")
        self._numbers = itertools.count(1)
        self._unread = b""
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        launch = f'exec "$@" 3<&{commands} 4>&{answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", launch, "bash", program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-background-networking", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def call(self, method, **parameters):
        """Carries out one command of the protocol, and returns its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            answer = self._read(deadline)
            if answer.get("id") != number:
                self._note(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]
        raise BrowserError(f"{method}: no answer")

    def _read(self, deadline):
        while b"\0" not in self._unread:
            if not select.select([self._from], [], [], max(0, deadline - time.monotonic()))[0]:
                raise BrowserError("the browser is silent")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise BrowserError("the browser has ended")
            self._unread += part
        line, _, self._unread = self._unread.partition(b"\0")
        return json.loads(line)

    def _note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("warning", "error"):
            entry = parameters["entry"]
            self.complaints.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}")
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("warning", "error"):
            self.complaints.append(str([argument.get("value") for argument in parameters["args"]]))

    def open(self, url):
        """Goes to a page."""
        self.call("Page.navigate", url=url)

    def ask(self, expression):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise BrowserError(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    def wait(self, expression, seconds=30):
        """Waits until an expression is true in the page, and returns its value."""
        deadline = time.monotonic() + seconds
        while not (value := self.ask(expression)):
            if time.monotonic() > deadline:
                raise BrowserError(f"never true: {expression}")
            time.sleep(0.05)
        return value

    def press(self, key, text=""):
        """Presses and releases a key."""
        for kind in ("keyDown", "keyUp"):
            codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                      windowsVirtualKeyCode=codes.get(key, 0))

    def type(self, text):
        """Types a text into what has the focus."""
        self.call("Input.insertText", text=text)

    def move(self, x, y):
        """Moves the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def show_as(self, width, height, scheme="light", motion="no-preference"):
        """Sets the size of the window, and what its user prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion}])

    def shoot(self, path, whole=False):
        """Writes a picture of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
