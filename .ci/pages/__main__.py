#!/usr/bin/env python3
"""Looks at pages of traces in a browser: each step shows the event that the text of the trace has, by slider and by keys; search,
filters, print, dark colours and 200 % work; what a hostile server says stays text; an accessibility checker finds nothing
serious; and a hundred thousand events can be scrolled.

    python3 -B .ci/pages --purl PROGRAM [--keep FOLDER]
"""

import argparse
import base64
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import axe_core_python
from browser import Browser

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")

MARKUP = "</script><img src=x onerror=alert(1)><!--"

HEAD = f"""HTTP/1.1 200 OK {MARKUP}\r
X-Markup: "'>{MARKUP}\r
ETag: "{MARKUP}"\r
Content-Disposition: attachment; filename="<b>x\u202egnp.exe"\r
"""


class Hostile(http.server.BaseHTTPRequestHandler):
    """A server whose every text is markup."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = (MARKUP + "<script>alert(2)</script>").encode() * 20
        self.wfile.write(f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def log_message(self, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser(prog="pages")
    parser.add_argument("--purl", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="where the pages and pictures of them are left")
    options = parser.parse_args()
    faults = []
    with tempfile.TemporaryDirectory(prefix="purl-pages-", ignore_cleanup_errors=True) as name:
        folder = (options.keep or Path(name)).resolve()
        folder.mkdir(exist_ok=True, parents=True)
        purl = str(options.purl.resolve())
        make(purl, folder)
        with Browser(Path(name) / "profile") as browser:
            for page in ["demo", "hostile", "long"]:
                check = Check(browser, folder, page)
                check.everything()
                faults += [f"{page}: {fault}" for fault in check.faults]
            for page in ODD:
                faults += odd(browser, folder, page)
    for fault in faults:
        print(f"FAILED - {fault}")
    return 1 if faults else 0


def make(purl, folder):
    """Traces, and each as text and as a page."""
    run = lambda *words: subprocess.run([purl, *words], cwd=folder, check=True, capture_output=True)
    run("demo", "--trace", "demo.json")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    run("get", f"http://127.0.0.1:{server.server_port}/a?b=<script>alert(3)</script>", "-o", "got", "--trace", "hostile.json")
    (folder / "got").unlink()
    (folder / "long.json").write_text(json.dumps(long_recording(100_000)))
    for name, events in ODD.items():
        (folder / f"{name}.json").write_text(json.dumps(
            {"version": 1, "startDate": 0, "events": events, "droppedEvents": 0, "droppedBytes": 0}))
        run("trace", f"{name}.json", "-o", f"{name}.html")
    for name in ["demo", "hostile", "long"]:
        run("trace", f"{name}.json", "-o", f"{name}.txt")
        run("trace", f"{name}.json", "-o", f"{name}.html")
        pages = {(folder / f"{name}.html").read_bytes()}
        for _ in range(1 if name == "long" else 19):
            (folder / f"{name}.html").unlink()
            run("trace", f"{name}.json", "-o", f"{name}.html")
            pages.add((folder / f"{name}.html").read_bytes())
        if len(pages) > 1:
            raise SystemExit(f"{name}: the same trace has made {len(pages)} pages")


def long_recording(count):
    """Many tasks, so that nothing can be folded."""
    events = []
    for number in range(count):
        task = number // 10 + 1
        kind = [
            {"made": {"method": "GET", "url": f"http://example.com/{task}"}}, {"call": {"_0": "resume"}},
            {"message": {"_0": "resume"}}, {"waiting": {"host": "example.com"}},
            {"requestHead": {"_0": {"url": f"http://example.com/{task}", "method": "GET", "target": f"/{task}",
                                    "fields": [{"name": "Host", "value": "example.com"}], "byteCount": 60}}},
            {"requestEnd": {}},
            {"responseHead": {"_0": {"status": 200, "reason": "OK", "byteCount": 90,
                                     "fields": [{"name": "Content-Length", "value": "1000"}]}}},
            {"bodyReceived": {"_0": {"count": 1000, "wireCount": 1000}}}, {"responseEnd": {"connectionStays": True}},
            {"completed": {}},
        ][number % 10]
        lane = "caller" if number % 10 < 2 else "network"
        events.append({"nanoseconds": number * 10_000, "lane": lane, "task": task, "connection": task % 7 + 1, "kind": kind})
    return {"version": 1, "startDate": 0, "events": events, "droppedEvents": 0, "droppedBytes": 0}


def note(nanoseconds, text="note", task=1):
    return {"nanoseconds": nanoseconds, "lane": "network", "task": task, "kind": {"note": {"_0": text}}}


# Traces that no transfer makes.
ODD = {
    "empty": [],
    "equal": [note(7), note(7), note(7)],
    "backwards": [note(900), note(-5), note(2 ** 63 - 1), note(-2 ** 63), note(100)],
    "controls": [note(0, MARKUP + "\0\x1b\u202e\u2066\u2028\x85\r\n")],
    "large": [note(0, "\u0301" * 1_000_000), note(1, MARKUP * 100_000)],
    # Calls that all run at the same time.
    "shades": [{"nanoseconds": number, "lane": "delegateQueue", "task": 1,
                "kind": {"began" if number < 10_000 else "ended": {"_0": {"number": number % 10_000, "method": "didComplete"}}}}
               for number in range(20_000)],
}


def odd(browser, folder, name):
    """Every step can be reached, by a link as well, and what is no step's number leads to the first."""
    browser.open((folder / f"{name}.html").as_uri())
    count = len(ODD[name])
    faults = []
    if browser.value("steps.length") != count:
        faults.append(f"{browser.value('steps.length')} steps, not {count}")
    for hash, step in [(f"#{count}", count), ("#0", 1), ("#-1", 1), ("#%", 1), ("#1e999", 1), ("#<b>", 1), ("#99999999", 1)]:
        found = browser.value(f"(location.hash = {json.dumps(hash)}, selectNamed(), current + 1)")
        if count and found != step:
            faults.append(f"{hash} leads to step {found}, not {step}")
    browser.value("select(shown.length - 1), setZoom(16), setZoom(1), play(), pause(), 0")
    browser.settle()
    now, rows = browser.value("[$('now').textContent, document.querySelectorAll('.row, .shade').length]")
    if re.search("[\0\x1b\u202e\u2066\u2028\x85]", now):
        faults.append("characters that are not seen are shown")
    if not now or len(now) > 2_100 or rows > 400:
        faults.append(f"{len(now)} letters, {rows} rows and shades")
    if (count == 0) != browser.value("$('slider').disabled"):
        faults.append("the slider does not show whether there is a step")
    return [f"{name}: {fault}" for fault in faults + browser.complaints()]


class Check:
    """One page."""

    def __init__(self, browser, folder, name):
        self.browser, self.folder, self.name = browser, folder, name
        self.url = (folder / f"{name}.html").as_uri()
        self.faults = []
        # Time, task, lane and words, in columns.
        lines = (folder / f"{name}.txt").read_text().splitlines()
        self.words = [re.match(r" *[\d.]+ ms  (?:task \d+ *  | {8,}(?=\S))?(?:code|delegate|network|files|server) *  (.*)", line)
                      for line in lines if not line.endswith("were not kept")]
        self.words = [found.group(1) for found in self.words if found]

    def expect(self, holds, fault):
        if not holds:
            self.faults.append(fault)

    def everything(self):
        browser = self.browser
        browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
        started = time.monotonic()
        browser.open(self.url)
        browser.settle()
        loaded = time.monotonic() - started
        self.expect(browser.value("steps.length") == len(self.words),
                    f"the page has {browser.value('steps.length')} steps, the text {len(self.words)} lines")
        self.steps()
        self.search()
        self.filters()
        self.zooming()
        self.playing()
        jump = browser.value(
            "new Promise(done => { const start = performance.now(); select(shown.length - 1);"
            " requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))) })")
        scroll = browser.value(
            "new Promise(done => { const list = $('list'); let worst = 0, turns = 0, last = performance.now();"
            " const turn = now => { worst = Math.max(worst, now - last); last = now;"
            " list.scrollTop = list.scrollHeight * turns / 60;"
            " if (++turns > 60) done(worst); else requestAnimationFrame(turn); }; requestAnimationFrame(turn); })")
        paint = browser.value("(performance.getEntriesByType('paint')[0] || {startTime: NaN}).startTime")
        # However long the trace is, few rows are in the page: this bounds the times, which depend on the machine and are
        # reported only.
        rows = browser.value("document.querySelectorAll('.row').length")
        self.expect(rows <= 100, f"{rows} rows are in the page")
        size = (self.folder / f"{self.name}.html").stat().st_size
        print(f"{self.name}: {len(self.words)} steps, {size / 1e6:.1f} MB, loaded after {loaded * 1000:.0f} ms, first paint "
              f"{paint:.0f} ms, to the end in {jump:.0f} ms, longest frame while scrolling {scroll:.0f} ms")
        self.looks()
        for complaint in browser.complaints():
            self.faults.append(complaint)
        self.accessibility()
        self.expect(not browser.value("document.querySelector('img, b, iframe, object')"), "text has become markup")
        self.policy()

    def shown(self):
        return self.browser.value("$('now').textContent")

    def steps(self):
        browser, words = self.browser, self.words
        few = range(len(words)) if len(words) < 500 else [*range(50), *range(50, len(words), len(words) // 50), len(words) - 1]
        for position in few:
            shown = browser.value(
                f"(() => {{ const slider = $('slider'); slider.value = {position + 1}; "
                "slider.dispatchEvent(new Event('input')); return $('now').textContent; })()")
            self.expect(one_line(shown) == words[position], f"slider {position + 1}: “{shown}”, not “{words[position]}”")
        browser.value("document.activeElement.blur()")
        browser.key("Home")
        self.expect(one_line(self.shown()) == words[0], "Home does not lead to the first event")
        for position in range(1, min(len(words), 40)):
            browser.key("ArrowRight")
            self.expect(one_line(self.shown()) == words[position], f"→ {position + 1}: “{self.shown()}”")
        browser.key("ArrowLeft")
        self.expect(one_line(self.shown()) == words[min(len(words), 40) - 2], f"← leads to “{self.shown()}”")
        browser.key("End")
        self.expect(one_line(self.shown()) == words[-1], f"End leads to “{self.shown()}”")
        for position in [0, len(words) // 2, len(words) - 1]:
            isSeen = browser.value(
                f"(() => {{ select({position}); const row = document.querySelector('[aria-selected=true]').getBoundingClientRect();"
                " const list = $('list').getBoundingClientRect(); return row.top >= list.top && row.bottom <= list.bottom; })()")
            self.expect(isSeen, f"the row of step {position + 1} is not in sight")
        selected = browser.value("document.querySelectorAll('[aria-selected=true]').length")
        self.expect(selected == 1, f"{selected} rows are selected")
        self.expect(browser.value("!!document.getElementById($('list').getAttribute('aria-activedescendant'))"),
                    "the active row is not there")

    def search(self):
        browser = self.browser
        browser.value("select(0)")
        browser.key("/", text="/")
        for letter in "200":
            browser.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
        browser.key("Enter")
        position = browser.value("shown[current]")
        expected = [number for number, words in enumerate(self.words) if number and "200" in words]
        self.expect(browser.value("$('search').value") == "200", "/ does not lead to the search")
        self.expect(expected and position <= expected[0], f"200 is found at {position + 1}, not at {expected[:1]}")
        browser.value("$('search').value = ''; find(); $('list').focus()")

    def filters(self):
        browser = self.browser
        for name, key in [("task", "k"), ("connection", "c")]:
            values = browser.value(f"trace.{name}s")
            if len(values) < 2:
                continue
            chosen = values[len(values) // 2]
            rest = browser.value(
                f"$('{name}').value = '{chosen}', applyFilters(), shown.every(p => steps[p].{key} === {chosen}) && shown.length")
            wanted = browser.value(f"steps.filter(step => step.{key} === {chosen}).length")
            self.expect(rest == wanted, f"{name} {chosen}: {rest} steps, not {wanted}")
            browser.value(f"$('{name}').value = '', applyFilters()")
        self.expect(browser.value("shown.length") == len(self.words), "the filters stay")

    def zooming(self):
        """The time line shows half of the time with each step of zoom, and always the current step; a step draws no bars anew."""
        browser = self.browser
        browser.value("document.activeElement.blur(), select(0)")
        whole = browser.value("visibleTime()[1]")
        for number in [2, 4, 8]:
            browser.key("+", text="+")
            self.expect(browser.value("$('zoom').textContent") == f"× {number}", f"+ does not zoom to {number}")
            begin, end = browser.value("visibleTime()")
            self.expect(abs((end - begin) * number - whole) < 1, f"× {number} shows {begin} to {end} of {whole}")
        for position in [0, len(self.words) // 2, len(self.words) - 1]:
            begin, end, now = browser.value(f"(select({position}), [...visibleTime(), steps[shown[current]].t])")
            self.expect(begin - 1 <= now <= end + 1, f"step {position + 1} at {now} is not in {begin} to {end}")
        browser.value("$('out').click(), $('out').click()")
        browser.key("-", text="-")
        self.expect(browser.value("visibleTime()") == [0, whole], "zooming out does not lead back")
        drawn = browser.value("(() => { let count = 0; const draw = drawBars; drawBars = (...all) => { count++; draw(...all); };"
                              " for (let place = 0; place < 20; place++) select(place); drawBars = draw; return count; })()")
        self.expect(drawn == 0, f"twenty steps draw the bars {drawn} times")

    def policy(self):
        """A script that was injected does not run, and nothing is fetched."""
        found = self.browser.value("""(async () => {
            const broken = [];
            document.addEventListener('securitypolicyviolation', event => broken.push(event.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'window.injected = true';
            document.body.append(script);
            const handler = document.createElement('div');
            handler.setAttribute('onclick', 'window.injected = true');
            document.body.append(handler);
            handler.click();
            const image = document.createElement('img');
            image.src = 'http://127.0.0.1:9/picture';
            document.body.append(image);
            const fetched = await fetch('http://127.0.0.1:9/').then(() => true, () => false);
            await new Promise(done => setTimeout(done, 0));
            for (const part of [script, handler, image]) part.remove();
            return [window.injected === undefined && !fetched, broken];
        })()""")
        self.expect(found[0], "an injected script runs")
        wanted = {"script-src-elem", "script-src-attr", "img-src", "connect-src"}
        self.expect(wanted <= set(found[1]), f"the policy forbids {found[1]} only")

    def playing(self):
        browser = self.browser
        # The speed may be changed on the way: at the first one it would take for hours.
        browser.value("select(0), $('speed').value = '0.0001', $('list').focus()")
        browser.key(" ", text=" ")
        browser.value("$('speed').value = '1000'")
        # A short transfer may have been played to its end already.
        self.expect(browser.value("playing !== null || current > 0"), "the space bar does not play")
        if len(self.words) < 500:
            browser.value("new Promise(done => { const look = () => playing ? requestAnimationFrame(look) : done(); look(); })")
            self.expect(browser.value("current") == len(self.words) - 1, "it does not play to the end")
        else:
            browser.value("pause()")

    def looks(self):
        browser = self.browser
        browser.value("select(Math.min(12, shown.length - 1))")
        for scheme in ["light", "dark"]:
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for width in [1400, 400]:
                browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
                browser.settle()
                wide = browser.value("document.documentElement.scrollWidth")
                self.expect(wide <= width, f"{width} points: the page is {wide} wide")
                self.picture(f"{scheme}-{width}")
            ground = browser.value("getComputedStyle(document.body).backgroundColor")
            self.expect((sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == (scheme == "dark"), f"{scheme}: {ground}")
        browser.call("Emulation.setEmulatedMedia", features=[])
        # 200 %: half of the points.
        browser.call("Emulation.setDeviceMetricsOverride", width=700, height=450, deviceScaleFactor=2, mobile=False)
        browser.settle()
        self.picture("200")
        self.expect(browser.value("document.documentElement.scrollWidth") <= 700, "200 %: the page is too wide")
        browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
        printed = base64.b64decode(browser.call("Page.printToPDF")["data"])
        (self.folder / f"{self.name}.pdf").write_bytes(printed)
        pages = len(re.findall(rb"/Type\s*/Page\b", printed))
        # What is not printed is said, and leaves no empty pages.
        rows = min(len(self.words), 3000)
        self.expect(rows / 45 <= pages <= rows / 25 + 2, f"{pages} printed pages for {rows} of {len(self.words)} steps")
        note = browser.value("renderForPrint(), $('printed').textContent")
        browser.value("render()")
        wanted = f"The first {rows:,} steps of {len(self.words):,}: filters choose others." if rows < len(self.words) else ""
        self.expect(note == wanted, f"printed: “{note}”")

    def picture(self, name):
        data = self.browser.call("Page.captureScreenshot", format="png")["data"]
        (self.folder / f"{self.name}-{name}.png").write_bytes(base64.b64decode(data))

    def accessibility(self):
        # The page's policy does not bind what is evaluated from outside.
        self.browser.value(AXE.read_text() + "; 0")
        # In dark colours nothing but these is different.
        for scheme, rules in [("light", ""), ("dark", ", {runOnly: ['color-contrast']}")]:
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.settle()
            found = self.browser.value(f"axe.run(document{rules}).then(result => result.violations.map(v => [v.impact, v.id, v.help, "
                                       "v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))")
            for impact, identifier, text, nodes in found:
                line = f"axe, {scheme}: {impact}: {identifier}: {text} {nodes}"
                if impact in ("serious", "critical"):
                    self.faults.append(line)
                else:
                    print(f"{self.name}: {line}")
        self.browser.call("Emulation.setEmulatedMedia", features=[])


def one_line(text):
    return " ".join(re.split(r"\r\n|[\n\v\f\r\x85\u2028\u2029]", text))


sys.exit(main())
