"""Tries what the documents for clients and scripts say: starts the bridge by each client's
configuration, holds its tools against that client's rules, and runs the guide's script.

usage: pages.py BRIDGE PROBE FILE
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"


def servers(language, block):
    """Every server that a configuration names, in the words of any client."""
    settings = tomllib.loads(block) if language == "toml" else json.loads(block)
    for member in ("mcpServers", "servers", "context_servers", "mcp_servers"):
        if member in settings:
            return settings[member]
    raise AssertionError(f"no servers in {settings}")


def check_client(page, bridge, probe, file):
    text = page.read_text()
    client = re.search(r"<!-- lint: (\S+) -->", text)[1]
    language, block = re.search(r"```(json|toml)\n(.*?)```", text, re.S).groups()
    named = servers(language, block)
    assert list(named) == ["ghidra"], named
    server = named["ghidra"]
    assert server["command"].startswith("/"), "hosts have another PATH"
    arguments = [file if word == "/bin/ls" else word for word in server["args"]]
    assert file in arguments, arguments
    command = [probe, "lint", "--client", client, "--server-name", "ghidra",
               "stdio", "--", bridge, *arguments, "project=none"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, f"{page.name}: {run.stdout}{run.stderr}"
    print(f"{page.stem}: {client} accepts the tools")


def check_guide(bridge, file):
    """The script of the guide, as it stands there, against a bridge on a free port."""
    text = (DOCS / "guide.md").read_text()
    script = re.search(r"```python\n# guide\.py(.*?)```", text, re.S)[1]
    default = "ws://127.0.0.1:8765/ws/agent"
    assert default in script
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [bridge, "serve", file, "ws_port=0", "mcp_port=0",
                   f"project={folder / 'guide.gbproject'}"]
        served = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            ready = json.loads(served.stdout.readline())
            place = folder / "guide.py"
            place.write_text("#" + script.replace(default, ready["ws"]))
            run = subprocess.run([sys.executable, str(place)], capture_output=True, text=True,
                                 timeout=120)
        finally:
            served.terminate()
            served.wait(timeout=20)
        assert run.returncode == 0, run.stdout + run.stderr
        for wanted in ("functions", "5 comments written", "renamed", "saved"):
            assert wanted in run.stdout, run.stdout
        assert (folder / "guide.gbproject").exists()
    print("guide: the script runs")


def main():
    bridge, probe, file = sys.argv[1:]
    pages = [page for page in sorted((DOCS / "clients").glob("*.md")) if page.stem != "README"]
    assert len(pages) == 10, pages
    for page in pages:
        check_client(page, bridge, probe, file)
    check_guide(bridge, file)


main()
