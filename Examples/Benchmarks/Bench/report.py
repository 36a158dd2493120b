"""Tables and a chart of what was measured."""

import datetime
import os
import platform
import statistics
import subprocess
import textwrap
from xml.sax.saxutils import escape

UNITS = {
    "rate": "requests/s", "messages": "messages/s", "throughput": "MB/s", "seconds": "s", "each": "µs each",
    "latency": "µs each", "memory": "MiB peak", "waiting": "KiB each"}
# Between these the README has a table, with these clients in columns of their own.
TABLE_BEGINS = "<!-- Made by Examples/Benchmarks/run --report: -->"
TABLE_ENDS = "<!-- To here. -->"
COLUMNS = ["AsyncHTTPClient", "FoundationNetworking", "curl"]


class Report:
    def __init__(self, options):
        self.options = options
        self.results = []

    def add(self, workload, runs):
        rows = [Row(workload, client, attempts) for client, attempts in runs.items()]
        if not rows:
            return
        self.results.append((workload, rows))
        own = own_row(workload, rows)
        print(f"\n{workload.title} ({UNITS[workload.figure]}, median of {rows[0].count})")
        for row in rows:
            print(f"  {row.client:34}{number(row.median):>12}{row.ratio_text(own):>10}   "
                  f"user {row.user:.2f} s, system {row.system:.2f} s, {row.memory:.0f} MiB", flush=True)

    def write_sections(self, folder):
        """Replaces what the report has of the workloads that were measured, and adds what it has not."""
        file = folder / "Report.md"
        sections = file.read_text().split("\n## ")
        for new in self.markdown().split("\n## ")[1:]:
            title = new.split("\n")[0].split(" (rounds")[0]
            old = next((index for index, text in enumerate(sections) if text.split("\n")[0].startswith(title)), None)
            if old is None:
                sections.append(new.rstrip("\n") + "\n")
            else:
                sections[old] = new
        file.write_text("\n## ".join(sections))

    def write(self, folder):
        (folder / "Report.md").write_text(self.markdown())
        (folder / "Report.svg").write_text(chart(self.results))
        readme = folder.parent.parent / "README.md"
        before, _, rest = readme.read_text().partition(TABLE_BEGINS)
        after = rest.partition(TABLE_ENDS)[2]
        readme.write_text(before + TABLE_BEGINS + self.summary() + TABLE_ENDS + after)

    def summary(self):
        """A row for each workload that compares Purl with others."""
        lines = ["", "", "| | Purl | " + " | ".join(COLUMNS) + " | others |", "| --- |" + " ---: |" * (len(COLUMNS) + 2)]
        for workload, rows in self.results:
            if workload.own != "Purl":
                continue
            own = own_row(workload, rows)
            values = {row.client: number(row.median) for row in rows if row is not own}
            cells = [values.pop(column, "") for column in COLUMNS]
            others = ", ".join(f"{value} ({client})" for client, value in values.items())
            lines.append(
                f"| {workload.title}, {UNITS[workload.figure]} | {number(own.median) if own else ''} | "
                + " | ".join(cells) + f" | {others} |")
        return "\n".join([*lines, "", ""])

    def markdown(self):
        lines = [
            "# Measured", "",
            f"{datetime.date.today()}, {machine()}. Made by `Examples/Benchmarks/run --report`: in every round each client has",
            f"its turn against the same nginx (one worker) on 127.0.0.1; the figures are medians of {self.options.rounds} rounds,",
            "or of as many as the heading says. Ratios are Purl's figure by the client's; user and system are seconds of",
            "processor time of the whole process, MiB its peak memory, or that of the script which started it where that is",
            "more: the system counts what it was before. WebSocket messages go to a small echo server in C, `EchoServer`;",
            "server-sent events come from the script, which sends one when the client has printed the one before.",
            "[What a small request costs](Costs.md) is a page of its own.", "",
            "![Rates and times beside other clients](Report.svg)", ""]
        for workload, rows in self.results:
            own = own_row(workload, rows)
            heading = "Purl : client" if workload.own == "Purl" else f"{workload.own} : this"
            rounds = f" (rounds: {workload.rounds})" if workload.rounds else ""
            lines += [f"## {workload.title}{rounds}", "", f"| client | {UNITS[workload.figure]} | {heading} | user s | system s | MiB |",
                      "| --- | ---: | ---: | ---: | ---: | ---: |"]
            lines += [
                f"| {row.client} | {number(row.median)} | {row.ratio_text(own)} | {row.user:.2f} | {row.system:.2f} | {row.memory:.0f} |"
                for row in rows]
            lines.append("")
            if workload.note:
                lines += [*textwrap.wrap(workload.note, 120), ""]
        return "\n".join(lines)


class Row:
    def __init__(self, workload, client, runs):
        self.client = client
        self.count = len(runs)
        self.median = statistics.median(run.figure(workload.figure) for run in runs)
        self.user = statistics.median(run.user for run in runs)
        self.system = statistics.median(run.system for run in runs)
        self.memory = statistics.median(run.memory for run in runs) / 1024

    def ratio_text(self, own):
        return f"{own.median / self.median:.2f}" if own and own is not self and self.median else ""


def own_row(workload, rows):
    """The row that the others are compared with."""
    return next((row for row in rows if row.client == workload.own), None)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}" if value < 1 else f"{value:.2f}"


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if "model name" in line), "")
    swift = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=False).stdout.split("\n")[0]
    return f"{os.cpu_count()} × {model or platform.machine()}, Linux {platform.release().split('-')[0]}, {swift}"


def chart(results):
    """A group of bars for each workload; the longest of a group has the full length."""
    bars, y = [], 30
    for workload, rows in results:
        bars.append(f'<text x="10" y="{y}" class="title">{escape(workload.title)}, {UNITS[workload.figure]}</text>')
        most = max(row.median for row in rows) or 1
        for row in rows:
            y += 20
            width = 420 * row.median / most
            kind = "own" if row.client == workload.own else "other"
            bars.append(f'<text x="170" y="{y + 11}" class="name">{escape(row.client)}</text>')
            bars.append(f'<rect x="180" y="{y}" width="{width:.1f}" height="14" class="{kind}"/>')
            bars.append(f'<text x="{185 + width:.1f}" y="{y + 11}" class="value">{number(row.median)}</text>')
        y += 45
    style = ("text{font:12px sans-serif;fill:#333}.title{font-weight:bold}.name{text-anchor:end}"
             ".own{fill:#d9541e}.other{fill:#9aa5b1}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="{y}" viewBox="0 0 700 {y}">'
            f'<style>{style}</style><rect width="700" height="{y}" fill="#fff"/>{"".join(bars)}</svg>\n')
