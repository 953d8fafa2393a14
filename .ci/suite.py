"""Holds a build against the official conformance suite, in the three versions of the
protocol that it speaks, with the listed scenarios failing and no others.

usage: suite.py BRIDGE FILE CLIENTS
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from serving import Served

HERE = Path(__file__).parent
# The oldest version has no frozen set: its scenarios one by one.
OLDEST = ["tools-list", "resources-list", "server-initialize", "ping", "server-session-lifecycle"]


def runs(url):
    for version, baseline in [("2026-07-28", "base-2026.yml"), ("2025-11-25", "base-2025.yml")]:
        baseline = str(HERE / "conformance" / baseline)
        yield ["--url", url, "--requirements", version, "--expected-failures", baseline]
    for scenario in OLDEST:
        yield ["--url", url, "--spec-version", "2025-06-18", "--scenario", scenario]


def main(bridge, file, clients):
    suite = Path(clients) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    with Served(bridge, file) as served:

        def run(arguments):
            command = ["node", str(suite), "server", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, cwd=clients, timeout=120)
            return arguments, done

        with ThreadPoolExecutor(2) as pool:
            failed = False
            for arguments, done in pool.map(run, runs(served.ready["mcp"])):
                what = " ".join(arguments[2:4] + arguments[4:6][1:])
                print(f"{what}: exit {done.returncode}")
                if done.returncode != 0:
                    failed = True
                    print(done.stdout[-6000:], done.stderr[-3000:], sep="\n")
    if failed:
        sys.exit(1)


main(*sys.argv[1:])
