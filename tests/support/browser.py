# SPDX-FileCopyrightText: dtrain contributors
# SPDX-License-Identifier: Apache-2.0
"""A real browser, for what a page does: Chromium, spoken to in the DevTools protocol over two pipes."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

FOUND = [shutil.which(name) for name in ("chromium", "google-chrome")]
PROGRAM = next((path for path in FOUND if path and not path.startswith("/snap/")), None)  # a snap sees no files of /tmp


class Browser:
    """One page of it. What goes wrong on the page is in `errors`, what it asks for in `requests`."""

    def __init__(self, folder, timeout=120):
        self.timeout, self.last, self.received = timeout, 0, b""
        self.errors, self.requests = [], []
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # The browser reads 3 and writes 4; numbers above these can be moved there in any order.
        theirs = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (commands, answers)]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs[0]} 4>&{theirs[1]}', "bash", PROGRAM, "--headless", "--remote-debugging-pipe",
             f"--user-data-dir={folder}", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
             *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"],
            pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for one in (commands, answers, *theirs):
            os.close(one)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self):
        deadline = time.monotonic() + self.timeout
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{PROGRAM} says nothing for {self.timeout} s"
            more = os.read(self.answers, 1 << 20)
            assert more, f"{PROGRAM} has ended with status {self.process.wait()}"
            self.received += more
        one, self.received = self.received.split(b"\0", 1)
        message = json.loads(one)
        about = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(about["exceptionDetails"])
        elif message.get("method") == "Log.entryAdded":
            self.errors.append(about["entry"])
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        return message

    def call(self, method, **params):
        self.last += 1
        command = {"id": self.last, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (message := self.message()).get("id") != self.last:
            pass
        assert "error" not in message, (method, message)
        return message["result"]

    def open(self, path, width=1280, dark=False, scripts=True):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setTouchEmulationEnabled", enabled=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        shown = self.call("Page.navigate", url=f"file://{path}")
        assert "errorText" not in shown, shown
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def value(self, expression):
        """Of JavaScript on the page; this works too where the page's own scripts are off."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def picture(self, longest):
        """A PNG of the whole page from its top, at most so many pixels long."""
        width, height = self.value("[innerWidth, document.scrollingElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, longest), "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"])

    def mouse(self, *events):
        """(kind, x, y, clicks): "Moved", "Pressed" or "Released"."""
        for kind, x, y, clicks in events:
            self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, button="left" if clicks else "none", clickCount=clicks,
                      buttons=1 if clicks and kind != "Released" else 0)

    def touch(self, first, *others):
        """A finger comes down at the first place and goes up at the last."""
        points = [[{"x": x, "y": y}] for x, y in (first, *others)]
        for kind, where in zip(["Start"] + ["Move"] * len(others) + ["End"], points + [[]], strict=True):
            self.call("Input.dispatchTouchEvent", type=f"touch{kind}", touchPoints=where)
