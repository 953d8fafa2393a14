"""Holds a build against the official conformance suite: the bridge as a server, in the
three versions of the protocol that it speaks, with the listed scenarios failing and no
others; or the probe's own client, in the scenarios made for clients.

usage: suite.py server CLIENTS BRIDGE FILE
       suite.py client CLIENTS PROBE
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from serving import Served

HERE = Path(__file__).parent
# The oldest version has no frozen set: its scenarios one by one.
OLDEST = ["tools-list", "resources-list", "server-initialize", "ping", "server-session-lifecycle"]
CLIENT = {
    "2025-11-25": ["initialize", "tools_call", "sse-retry"],
    "2026-07-28": [
        "tools_call",
        "request-metadata",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
    ],
}


def server_runs(url):
    for version, baseline in [("2026-07-28", "base-2026.yml"), ("2025-11-25", "base-2025.yml")]:
        baseline = str(HERE / "conformance" / baseline)
        yield version, ["--url", url, "--requirements", version, "--expected-failures", baseline]
    for scenario in OLDEST:
        version = "2025-06-18"
        arguments = ["--url", url, "--spec-version", version, "--scenario", scenario]
        yield f"{version} {scenario}", arguments


def client_runs(probe):
    command = ["--command", f"{probe} conformance-driver"]
    for version, scenarios in CLIENT.items():
        for scenario in scenarios:
            arguments = [*command, "--spec-version", version, "--scenario", scenario]
            yield f"{version} {scenario}", arguments


def judge(side, clients, runs):
    """Whether the suite is content with all of the runs; two at a time."""
    suite = Path(clients) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

    def one(run):
        what, arguments = run
        command = ["node", str(suite), side, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=clients, timeout=120)
        said = f"{side} {what}: exit {done.returncode}"
        if done.returncode != 0:
            said = "\n".join([said, done.stdout[-6000:], done.stderr[-3000:]])
        print(said, flush=True)
        return done.returncode == 0

    with ThreadPoolExecutor(2) as pool:
        return all(list(pool.map(one, runs)))


def main(side, clients, program, *file):
    if side == "client":
        return judge(side, clients, client_runs(program))
    with Served(program, *file) as served:
        return judge(side, clients, server_runs(served.ready["mcp"]))


sys.exit(0 if main(*sys.argv[1:]) else 1)
