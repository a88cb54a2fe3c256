"""Chromium without a window, driven by its own protocol over two pipes: messages are JSON, each ended by a zero byte."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT = 120  # seconds for an answer: what hangs ends, and what is slow because the machine is busy does not


def program():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        out_read, self.out = os.pipe()
        self.back, back_write = os.pipe()

        def wire():
            a, b = os.dup(out_read), os.dup(back_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen([program(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                                         "--disable-background-networking",
                                         "--font-render-hinting=none", "--disable-lcd-text", "--remote-debugging-pipe",
                                         "--user-data-dir=" + self.folder, "about:blank"],
                                        preexec_fn=wire, pass_fds=(3, 4, out_read, back_write), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(out_read)
        os.close(back_write)
        self.rest, self.number, self.events = b"", 0, []
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.page(domain + ".enable")

    def receive(self):
        end = time.monotonic() + LIMIT
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            assert ready, "Chromium does not answer"
            part = os.read(self.back, 1 << 20)
            assert part, "Chromium ended"
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **params):
        self.number += 1
        m = {"id": self.number, "method": method, "params": params}
        if session:
            m["sessionId"] = session
        os.write(self.out, json.dumps(m).encode() + b"\0")
        while True:
            r = self.receive()
            if r.get("id") == self.number:
                assert "error" not in r, (method, r)
                return r["result"]
            self.events.append(r)

    def page(self, method, **params):
        return self.send(method, self.session, **params)

    def run(self, script):
        """The value of an expression in the page."""
        r = self.page("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in r, (script, r["exceptionDetails"])
        return r["result"].get("value")

    def open(self, file, width=1280, height=900, dark=False):
        self.events.clear()
        self.page("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.page("Page.navigate", url="file://" + os.path.abspath(file))
        end = time.monotonic() + LIMIT
        while not self.run("location.protocol === 'file:' && document.documentElement && document.documentElement.dataset.ready "
                           "|| ''"):
            assert time.monotonic() < end, f"{file} is not ready: {self.complaints()}"
            time.sleep(0.05)

    def complaints(self):
        """All that the console has, but for what says nothing of the page."""
        return [e for e in self.events
                if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]

    def picture(self, file):
        data = self.page("Page.captureScreenshot", format="png", captureBeyondViewport=False)["data"]
        with open(file, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
