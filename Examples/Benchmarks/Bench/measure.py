"""One run of one program."""

import json
import os
import re
import statistics
import subprocess
import time

# How many server-sent events a client gets.
EVENTS = 1000


class Run:
    """Seconds, requests and bytes as the program prints them, or as seen from here; processor time and memory from the system."""

    def __init__(self, command, holding=None, events=None):
        self.waiting_memory = None
        self.latency = None
        self.bytes = 0
        self.problem = None
        began = time.monotonic()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=raise_descriptor_limit)
        if holding:
            holding.expect(int(command[-1]), lambda: self.note_memory(process.pid))
        if events:
            self.note_latency(events.round_trips(process.stdout, EVENTS))
        output = process.stdout.read().decode()
        errors = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        self.seconds = time.monotonic() - began
        self.user = usage.ru_utime
        self.system = usage.ru_stime
        self.memory = usage.ru_maxrss
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            self.problem = f"ended with {process.returncode}: {errors.strip()[-300:]}"
            return
        if events and self.latency is None:
            self.problem = "not all events were printed"
        self.requests = 1
        self.understand(command, output)

    def understand(self, command, output):
        if command[0] == "wrk":
            self.requests = int(re.search(r"(\d+) requests in", output)[1])
            self.seconds = self.requests / float(re.search(r"Requests/sec: *([\d.]+)", output)[1])
        elif command[0] == "curl":
            counts = re.search(r"\[1-(\d+)\]$", command[-1])
            self.requests = int(counts[1]) if counts else 1
        elif output.startswith("{"):
            result = json.loads(output)
            self.seconds = result["seconds"]
            self.requests = result["requests"]
            self.bytes = result["bytes"]
            if result.get("memoryBefore") and self.waiting_memory:
                self.waiting_memory -= result["memoryBefore"]
            if self.requests == 0:
                self.problem = "the transfer failed"

    def note_latency(self, seconds):
        if len(seconds) == EVENTS:
            self.latency = statistics.median(seconds)

    def note_memory(self, process):
        with open(f"/proc/{process}/status", encoding="ascii") as status:
            self.waiting_memory = int(re.search(r"VmRSS:\s*(\d+)", status.read())[1])

    def figure(self, name):
        match name:
            case "rate" | "messages":
                return self.requests / self.seconds
            case "seconds":
                return self.seconds
            case "each":
                return self.seconds / self.requests * 1e6
            case "throughput":
                return self.bytes / self.seconds / 1e6
            case "latency":
                return self.latency * 1e6
            case "memory":
                return self.memory / 1024
            case "waiting":
                return (self.waiting_memory or 0) / self.requests


def raise_descriptor_limit():
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
