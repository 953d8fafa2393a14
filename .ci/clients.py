"""Drives a build with the clients that other people use: the TypeScript SDKs and `ws`
(clients/drive.mjs), the Inspector's command line, and Python's `websockets`.

usage: clients.py BRIDGE FILE CLIENTS
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import websockets
from serving import Served

TOKEN = "a-token-of-the-gate"


async def websocket(url):
    """Pipelined reads, a write, an error, a ping, one client at a time, a goodbye."""
    async with websockets.connect(url) as socket:
        ready = json.loads(await socket.recv())
        assert ready["method"] == "ghidra.ready", ready

        async def send(ident, method, params):
            request = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
            await socket.send(json.dumps(request))

        async def ask(method, params):
            await send(method, method, params)
            reply = json.loads(await socket.recv())
            assert reply["id"] == method, reply
            return reply

        contract = await ask("interface.get", {})
        assert len(contract["result"]["methods"]) == 56
        many = 500
        for ident in range(many):
            await send(ident, "address.resolve", {"selector": {"address": "main"}})
        seen = {json.loads(await socket.recv())["id"] for _ in range(many)}
        assert seen == set(range(many))

        resource = {"address": "main", "type": "repeatable", "text": "gru\u00df"}
        selector = {"address": "main", "type": "repeatable"}
        assert "result" in await ask("comment.create", {"resource": resource})
        twice = await ask("comment.create", {"resource": resource})
        assert twice["error"]["data"]["code"] == "comment_exists", twice
        found = await ask("comment.get", {"selector": selector})
        assert found["result"]["text"] == "gru\u00df", found
        assert "result" in await ask("comment.delete", {"selector": selector})
        await (await socket.ping(b"there?"))
        try:
            async with websockets.connect(url):
                raise AssertionError("a second client was let in")
        except websockets.InvalidStatus as refusal:
            assert refusal.response.status_code == 409, refusal
        await socket.send(b"binary")
        try:
            await socket.recv()
            raise AssertionError("binary was answered")
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd.code == 1003, closed
    print("websockets: fine")


class Inspector:
    """The Inspector's command line; what it exits with is its verdict."""

    def __init__(self, clients, home):
        package = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        self.program = str(Path(clients) / package)
        self.environment = {**os.environ, "HOME": home}

    def run(self, case):
        what, expected, arguments = case
        command = ["node", self.program, "--cli", *arguments, "--format", "json"]
        done = subprocess.run(
            command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        said = f"{what}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == expected, said
        return f"inspector {what}: fine"


def call(tool, **arguments):
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


def inspections(bridge, file, url, guarded):
    http = [url, "--transport", "http"]
    pipes = [bridge, "stdio", file, "project=none", "analysis=wait", "--transport", "stdio"]
    selector = {"address": "main", "type": "pre"}
    note = {"resource": {**selector, "text": "seen"}}
    for era, transport in [("modern", http), ("legacy", http), ("auto", pipes)]:
        over = [*transport, "--protocol-era", era]
        name = f"{era} {transport[-1]}"
        yield f"{name} tools", 0, [*over, "--strict", "--method", "tools/list"]
        yield f"{name} help", 0, [*over, *call("ghidra.help")]
        yield f"{name} read", 0, [*over, *call("ghidra.function", operation="list")]
        write = call("ghidra.comment", operation="upsert", params=note)
        yield f"{name} write", 0, [*over, *write]
        yield f"{name} error", 5, [*over, *call("ghidra.comment", operation="nope")]
    yield "auto stdio resources", 0, [*pipes, "--protocol-era", "auto", "--method", "resources/list"]
    yield "legacy stdio", 0, [*pipes, "--protocol-era", "legacy", *call("ghidra.bridge", operation="get")]
    locked = [guarded, "--transport", "http", "--stored-auth-only", "--method", "resources/list"]
    yield "without the token", 3, locked
    yield "with the token", 0, [*locked, "--header", f"Authorization: Bearer {TOKEN}"]


def main(bridge, file, clients):
    with (
        Served(bridge, file, "analysis=wait") as served,
        Served(bridge, file, f"token={TOKEN}") as guarded,
        tempfile.TemporaryDirectory() as home,
    ):
        url = served.ready["mcp"]
        drive = ["node", str(Path(clients) / "drive.mjs"), bridge, file, url, served.ready["ws"]]
        subprocess.run(drive, check=True, timeout=120)
        asyncio.run(websocket(served.ready["ws"]))
        inspector = Inspector(clients, home)
        cases = inspections(bridge, file, url, guarded.ready["mcp"])
        with ThreadPoolExecutor(2) as pool:
            for line in pool.map(inspector.run, cases):
                print(line)


main(*sys.argv[1:])
