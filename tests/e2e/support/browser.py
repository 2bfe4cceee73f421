# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven over its DevTools protocol through a pipe: no port, no package but chromium itself."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time

from support import Skip

TIMEOUT = 60.0
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio", "--remote-debugging-pipe"]


class Browser:
    """with Browser(folder) as browser: page = browser.open(path). Skips where Chromium is not there or does not start."""

    def __init__(self, folder, width=1400, height=1000):
        chromium = shutil.which("chromium")
        if chromium is None:
            raise Skip("chromium is not there: apt-get install chromium")
        self.buffer, self.number, self.events = b"", 0, []
        commands, self.out = os.pipe()
        self.inp, answers = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (commands, answers)]  # 3 and 4 are what Chromium takes
        self.log = folder / "chromium.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [chromium, *FLAGS, f"--user-data-dir={folder / 'chromium'}", f"--window-size={width},{height}", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(3, 4), start_new_session=True,
                env={**os.environ, "HOME": str(folder)}, preexec_fn=lambda: [os.dup2(fd, 3 + i) for i, fd in enumerate(high)])
        for fd in (commands, answers, *high):
            os.close(fd)
        try:
            self.call("Browser.getVersion")
        except EOFError as e:
            self.close()
            raise Skip(f"chromium does not start here: {self.log.read_text(errors='replace')[-300:]}") from e

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # a session of its own: it and its children
        self.process.wait()
        for fd in (self.inp, self.out):
            os.close(fd)
        self.inp = self.out = -1

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        try:
            self._write(json.dumps(message).encode() + b"\0")
        except BrokenPipeError as e:
            raise EOFError from e
        while True:
            answer = self._read(time.monotonic() + TIMEOUT)
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _write(self, data):
        while data:
            data = data[os.write(self.out, data):]

    def _read(self, end):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inp], [], [], max(0, end - time.monotonic()))
            assert ready, f"chromium did not answer within {TIMEOUT} s"
            data = os.read(self.inp, 1 << 20)
            if not data:
                raise EOFError
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path, fragment="", dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        page.load(f"file://{path}{fragment}")
        return page


class Page:
    def __init__(self, browser, session):
        self.browser, self.session, self.url = browser, session, None
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def events(self, method):
        return [e["params"] for e in self.browser.events if e.get("sessionId") == self.session and e.get("method") == method]

    def load(self, url):
        self.url = url
        begin = time.monotonic()
        self.call("Page.navigate", url=url)
        self.eval("new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))")
        self.settle()
        self.load_seconds = time.monotonic() - begin

    def eval(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        got = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"].get("exception", {}).get("description", got)
        return got["result"].get("value")

    def settle(self):
        """Until what was done is drawn."""
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def text(self, selector):
        return self.eval(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector):
        return self.eval(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)")

    def click(self, selector, x=None, y=None):
        """In the middle of an element, or at a place in it."""
        box = self.eval("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'nearest'});"
                        "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()" % json.dumps(selector))
        self.mouse("mouseMoved", box[0] + (box[2] / 2 if x is None else x), box[1] + (box[3] / 2 if y is None else y))
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, *self.at, button="left", clickCount=1)
        self.settle()

    def hover(self, selector, x, y):
        box = self.eval("(() => { const b = document.querySelector(%s).getBoundingClientRect(); return [b.left, b.top]; })()" % json.dumps(selector))
        self.mouse("mouseMoved", box[0] + x, box[1] + y)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.at = (x, y)
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key, text=None, modifiers=0):
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        more = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, windowsVirtualKeyCode=codes.get(key, 0), **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers, windowsVirtualKeyCode=codes.get(key, 0))
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def errors(self):
        """What the console says went wrong, violations of the page's own policy among it."""
        said = [e["exceptionDetails"]["text"] for e in self.events("Runtime.exceptionThrown")]
        said += [str(e["args"]) for e in self.events("Runtime.consoleAPICalled") if e["type"] in ("error", "warning", "assert")]
        said += [e["entry"]["text"] for e in self.events("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")]
        return [text for text in said if "willReadFrequently" not in text]  # that is a test's own reading of pixels

    def requests(self):
        """Everything fetched but for the page itself."""
        return [e["request"]["url"] for e in self.events("Network.requestWillBeSent") if e["request"]["url"] != self.url.partition("#")[0]]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
