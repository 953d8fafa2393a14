"""Drives a release build the way a newcomer's client does: the stock Python MCP
client asks about a C sample over HTTP and stdio, in every mode it has.

usage: smoke.py BRIDGE FILE
"""

import asyncio
import sys

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from serving import Served

QUICK = ["project=none"]


def check_start(program, file):
    """The ready line comes within a second; a busy machine gets three tries."""
    times = []
    for _ in range(3):
        with Served(program, file) as served:
            times.append(served.ready_after)
        print(f"ready after {times[-1] * 1000:.0f} ms")
        if times[-1] < 1.0:
            return
    raise AssertionError(f"the ready line took {times} s")


async def call(client, tool, operation, **params):
    answer = await client.call_tool(tool, {"operation": operation, "params": params})
    content = answer.structured_content
    assert not answer.is_error, f"{tool} {operation} {params}: {content}"
    assert content["operation"] == operation, content
    return content["result"]


async def analysed(client):
    """Waits until the background analysis is over."""
    for _ in range(300):
        status = await call(client, "ghidra.analysis", "get")
        if status.get("analyzed"):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"not analysed within 30 s: {status}")


async def explore(client):
    """What a first-time client does, knowing only what help says."""
    tools = (await client.list_tools()).tools
    assert len(tools) == 15, [tool.name for tool in tools]
    helped = await client.call_tool("ghidra.help", {})
    assert not helped.is_error and helped.structured_content["domains"]
    await analysed(client)

    found = await call(client, "ghidra.function", "list", filter={"name": "main"})
    mains = [row for row in found["items"] if row["name"] == "main"]
    assert len(mains) == 1, found
    entry = mains[0]["entry"]

    text = await call(client, "ghidra.decompilation", "get", selector={"entry": entry})
    assert text["completed"] and "add_item(" in text["c"] and "qsort(" in text["c"], text

    callees = await call(client, "ghidra.function", "call.list",
                         filter={"entry": entry, "direction": "callees"})
    names = {row["name"] for row in callees["items"]}
    assert {"add_item", "print_shelf", "give_up"} <= names, names

    item = next(row["entry"] for row in callees["items"] if row["name"] == "add_item")
    callers = await call(client, "ghidra.function", "call.list",
                         filter={"entry": item, "direction": "callers"})
    assert {row["name"] for row in callers["items"]} == {"main"}, callers

    program = await call(client, "ghidra.program", "get")
    head = await call(client, "ghidra.memory", "read",
                      selector={"address": program["image_base"]}, length=4)
    assert head["bytes"]["data"] == "7f454c46", head

    hits = await call(client, "ghidra.memory", "search",
                      filter={"text": "the shelf is full"})
    assert len(hits["items"]) == 1, hits

    # A note is written once, refused twice, and taken away again.
    place = {"address": entry, "type": "plate"}
    note = {**place, "text": "where it begins"}
    await call(client, "ghidra.comment", "create", resource=note)
    found = await call(client, "ghidra.comment", "get", selector=place)
    assert found["text"] == note["text"], found
    again = {"operation": "create", "params": {"resource": note}}
    twice = await client.call_tool("ghidra.comment", again)
    assert twice.is_error and twice.structured_content["code"] == "comment_exists", twice
    await call(client, "ghidra.comment", "delete", selector=place)
    try:
        await client.call_tool("ghidra.nope", {})
        raise AssertionError("an unknown tool was called")
    except MCPError as error:
        assert error.error.code == -32602, error


async def check(name, target, mode):
    async with Client(target, mode=mode) as client:
        await explore(client)
        print(f"{name} {mode}: {client.protocol_version} fine")


async def main(program, file):
    check_start(program, file)
    with Served(program, file) as served:
        for mode in ("auto", "legacy", "2026-07-28"):
            await check("http", served.ready["mcp"], mode)
    for mode in ("auto", "legacy"):
        command = StdioServerParameters(command=program, args=["stdio", file, *QUICK])
        await check("stdio", stdio_client(command), mode)


asyncio.run(main(*sys.argv[1:]))
