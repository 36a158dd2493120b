#!/usr/bin/env python3
"""What purl's traces become is what other tools take it for.

    python3 -B Tests/Checks/traces.py --purl .build/release/purl

`purl demo` is traced once. Its archive is read by haralyzer and checked against the rules of HAR 1.2; in its packets tshark
has to find the same requests, statuses and lengths, with right checksums.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from haralyzer import HarParser

# The objects of HAR 1.2 with what they must have, and of which type: http://www.softwareishard.com/blog/har-12-spec/.
NUMBER = (int, float)
RULES = {
    "log": {"version": str, "creator": dict, "entries": list},
    "creator": {"name": str, "version": str},
    "entry": {"startedDateTime": str, "time": NUMBER, "request": dict, "response": dict, "cache": dict, "timings": dict},
    "request": {"method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
                "headersSize": int, "bodySize": int},
    "response": {"status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": dict,
                 "redirectURL": str, "headersSize": int, "bodySize": int},
    "content": {"size": int, "mimeType": str},
    "timings": {"send": NUMBER, "wait": NUMBER, "receive": NUMBER},
    "pair": {"name": str, "value": str},
}


def main():
    parser = argparse.ArgumentParser(prog="traces")
    parser.add_argument("--purl", type=Path, required=True)
    purl = parser.parse_args().purl.resolve()
    with tempfile.TemporaryDirectory(prefix="purl-traces-") as name:
        folder = Path(name)
        run(purl, "demo", "--trace", folder / "demo.json")
        for form in ("har", "pcapng", "svg", "txt"):
            run(purl, "trace", folder / "demo.json", "-o", folder / f"demo.{form}")
        entries = check_archive(folder / "demo.har")
        check_packets(folder / "demo.pcapng", entries)
    print(f"{len(entries)} exchanges: the archive and the packets have the same.")


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True).stdout


def check_archive(path):
    archive = json.loads(path.read_text())
    log = archive["log"]
    rule("log", log)
    rule("creator", log["creator"])
    for entry in log["entries"]:
        rule("entry", entry)
        datetime.fromisoformat(entry["startedDateTime"])
        for part in ("request", "response", "timings"):
            rule(part, entry[part])
        rule("content", entry["response"]["content"])
        for pair in entry["request"]["headers"] + entry["response"]["headers"] + entry["request"]["queryString"]:
            rule("pair", pair)
        total = sum(time for time in entry["timings"].values() if time > 0)
        expect(abs(total - entry["time"]) < 0.001, f"the times of {entry['request']['url']} do not add up")
    entries = HarParser(archive).har_data["entries"]
    expect([entry["response"]["status"] for entry in entries] == [200, 206, 206], "haralyzer finds other responses")
    return log["entries"]


def rule(name, value):
    for key, kind in RULES[name].items():
        expect(isinstance(value.get(key), kind), f"{name}.{key} is {value.get(key)!r}")


def check_packets(path, entries):
    def fields(shown, *names):
        arguments = [word for name in names for word in ("-e", name)]
        checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
        lines = run("tshark", "-r", path, *checks, "-Y", shown, "-T", "fields", *arguments).splitlines()
        return [tuple(line.split("\t")) for line in lines]

    requests = [(entry["request"]["method"], "/" + entry["request"]["url"].split("/", 3)[3]) for entry in entries]
    statuses = [(str(entry["response"]["status"]),) for entry in entries]
    lengths = [entry["response"]["headersSize"] + entry["response"]["bodySize"] for entry in entries]
    expect(fields("http.request", "http.request.method", "http.request.uri") == requests, "tshark finds other requests")
    expect(fields("http.response", "http.response.code") == statuses, "tshark finds other statuses")
    received = {}
    for stream, length in fields("tcp.len > 0", "tcp.stream", "tcp.len"):
        received[stream] = received.get(stream, 0) + int(length)
    sent = [entry["request"]["headersSize"] for entry in entries]
    expect(list(received.values()) == [down + up for down, up in zip(lengths, sent)], "tshark finds other lengths")
    expect(fields("ip.checksum.status == 0 || tcp.checksum.status == 0", "frame.number") == [], "a checksum is wrong")
    expect(fields("tcp.analysis.flags", "frame.number") == [], "a sequence number is wrong")


def expect(condition, sentence):
    if not condition:
        sys.exit(f"error: {sentence}")


main()
