"""Holds the doctor's verdict against those of the official clients.

usage: table.py PROBE PYTHON CLIENTS [SERVERS PYTHON_OF_SERVERS PYTHON_OF_OLDER_SERVERS]

PYTHON has the package `mcp`; CLIENTS is a folder with node_modules of package.json here and
judge.mjs. SERVERS is what .ci/servers/fetch filled. Prints one line a server and fails when
fewer than 98 % agree or a disagreement has no reason in REASONS.
"""

import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = "8"
LEAST = 0.98
# Most of the time is waiting for what does not come.
WORKERS = 6

# Where the doctor differs on purpose.
REASONS = {
    "stdio none": "a list without tools is told as a fault, although every client takes it",
}


def last_json(command, cwd=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, cwd=cwd)
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {"works": False, "why": done.stderr[-200:] or "nothing was said"}


class Judges:
    def __init__(self, probe, python, clients):
        self.probe, self.python, self.clients = probe, python, clients

    def all(self, kind, words):
        own = [self.python, str(HERE / "judge.py"), SECONDS, kind, *words]
        theirs = ["node", "judge.mjs", SECONDS, kind, *words]
        target = words if kind == "http" else ["stdio", "--", *words]
        flags = ["doctor", "--json", "--timeout-idle", f"{SECONDS}s"]
        doctor = subprocess.run(
            [self.probe, *flags, *target], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
        )
        said = json.loads(doctor.stdout)
        title = next((finding["title"] for finding in said["findings"]), "it works")
        verdict = said["verdict"]
        return doctor.returncode == 0, title, verdict, last_json(own), last_json(theirs, self.clients)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Listening:
    def __init__(self, command, port, path="/mcp"):
        env = {**os.environ, "PORT": str(port)}
        quiet = subprocess.DEVNULL
        self.child = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=env)
        self.url = f"http://127.0.0.1:{port}{path}"
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


def faulty():
    """Each mode of the faulty server: name, kind, command."""
    modes = subprocess.run([sys.executable, str(HERE / "faulty.py"), "--list"], capture_output=True, text=True, check=True)
    for line in modes.stdout.split("\n"):
        if line:
            kind, name = line.split()
            yield line, kind, [sys.executable, str(HERE / "faulty.py"), name]


def published(folder, newer, older):
    """Published servers: name, kind, command."""
    modules = Path(folder) / "node_modules"
    official = modules / "@modelcontextprotocol"

    def node(script, *rest):
        return ["node", str(script), *rest]

    def script(package):
        """The program of a package, as its package.json names it."""
        about = json.loads((modules / package / "package.json").read_text())
        program = about["bin"] if isinstance(about["bin"], str) else next(iter(about["bin"].values()))
        return modules / package / program

    yield "server-everything", "stdio", node(official / "server-everything/dist/index.js", "stdio")
    yield "server-everything over HTTP", "http", node(official / "server-everything/dist/index.js", "streamableHttp")
    yield "server-filesystem", "stdio", node(official / "server-filesystem/dist/index.js", folder)
    yield "server-memory", "stdio", node(official / "server-memory/dist/index.js")
    yield "server-sequential-thinking", "stdio", node(official / "server-sequential-thinking/dist/index.js")
    yield "TypeScript SDK 2, served", "stdio", node(Path(folder) / "one_tool.mjs")
    yield "TypeScript SDK 2, connected", "stdio", node(Path(folder) / "one_tool.mjs", "connect")
    for package, *rest in [
        ("@modelcontextprotocol/server-github",),
        ("everything-2024",),
        ("filesystem-2024", folder),
        ("filesystem-2024",),
        ("memory-2024",),
        ("@agent-infra/mcp-server-commands",),
        ("@agent-infra/mcp-server-filesystem", "--allowed-directories", folder),
        ("@antv/mcp-server-chart",),
        ("@coo-quack/calc-mcp",),
        ("@playwright/mcp",),
        ("kubernetes-mcp-server",),
        ("mcp-server-commands",),
        ("mcp-sqlite", str(Path(folder) / "x.db")),
    ]:
        yield f"{package} {' '.join(rest[:1]) if rest and not rest[0].startswith('/') else ''}".strip() + (
            "" if rest or package != "filesystem-2024" else " without a folder"
        ), "stdio", node(script(package), *rest)
    for python, which in [(newer, "mcp 2"), (older, "mcp 1")]:
        yield f"mcp-server-time on {which}", "stdio", [python, "-m", "mcp_server_time"]
        yield f"mcp-server-git on {which}", "stdio", [python, "-m", "mcp_server_git"]
    yield "Python mcp", "stdio", [newer, str(Path(folder) / "one_tool.py")]
    yield "fastmcp", "stdio", [newer, str(Path(folder) / "one_tool_fast.py")]
    yield "fastmcp over HTTP", "http", [newer, str(Path(folder) / "one_tool_fast.py"), "PORT"]
    yield "mcp-server-fetch", "stdio", [newer, "-m", "mcp_server_fetch"]
    yield "excel-mcp-server", "stdio", [newer, "-m", "excel_mcp", "stdio"]
    yield "mcp-server-sqlite", "stdio", [str(Path(older).parent / "mcp-server-sqlite"), "--db-path", str(Path(folder) / "y.db")]
    yield "mcp-text-editor", "stdio", [str(Path(older).parent / "mcp-text-editor")]
    yield "mcp-server-calculator", "stdio", [older, "-m", "mcp_server_calculator"]


def judge(judges, row):
    name, kind, command = row
    if kind == "stdio":
        return name, *judges.all("stdio", command)
    port = free_port()
    command = [str(port) if word == "PORT" else word for word in command]
    if "faulty.py" in command[1]:
        command.append(str(port))
    with Listening(command, port) as listening:
        return name, *judges.all("http", [listening.url])


def main(probe, python, clients, *servers):
    judges = Judges(probe, python, clients)
    rows = list(faulty()) + (list(published(*servers)) if servers else [])
    agreed, unexplained = 0, []
    with ThreadPoolExecutor(WORKERS) as pool:
        for name, works, title, verdict, own, theirs in pool.map(lambda row: judge(judges, row), rows):
            same = works == (own["works"] and theirs["works"])
            exact = (verdict["python"]["works"], verdict["typescript"]["works"]) == (own["works"], theirs["works"])
            agreed += same
            if not same and name not in REASONS:
                unexplained.append(name)
            mark = "same" if same and exact else "client" if same else REASONS.get(name, "DIFFERS")
            word = {True: "works", False: "refuses"}
            print(f"{name:<36} doctor {word[works]:<8} Python {word[own['works']]:<8} TypeScript {word[theirs['works']]:<8} {mark}: {title}", flush=True)
    share = agreed / len(rows)
    print(f"{agreed} of {len(rows)} agree ({share:.1%})")
    if share < LEAST or unexplained:
        sys.exit(f"disagreements without a reason: {', '.join(unexplained)}")


main(*sys.argv[1:])
