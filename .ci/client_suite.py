"""Has the official conformance suite judge the probe's own client.

usage: client_suite.py PROBE CLIENTS
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SCENARIOS = [
    ("initialize", "2025-11-25"),
    ("tools_call", "2025-11-25"),
    ("sse-retry", "2025-11-25"),
    ("tools_call", "2026-07-28"),
    ("request-metadata", "2026-07-28"),
    ("http-standard-headers", "2026-07-28"),
    ("http-custom-headers", "2026-07-28"),
    ("http-invalid-tool-headers", "2026-07-28"),
    ("json-schema-ref-no-deref", "2026-07-28"),
]


def main(probe, clients):
    suite = Path(clients) / "node_modules/@modelcontextprotocol/conformance/dist/index.js"

    def run(case):
        scenario, version = case
        command = ["node", str(suite), "client", "--command", f"{probe} conformance-driver"]
        command += ["--scenario", scenario, "--spec-version", version]
        return case, subprocess.run(command, capture_output=True, text=True, cwd=clients, timeout=120)

    failed = False
    with ThreadPoolExecutor(2) as pool:
        for (scenario, version), done in pool.map(run, SCENARIOS):
            print(f"{scenario} {version}: exit {done.returncode}")
            if done.returncode != 0:
                failed = True
                print(done.stdout[-4000:], done.stderr[-2000:], sep="\n")
    if failed:
        sys.exit(1)


main(*sys.argv[1:])
