"""What the official Python client makes of a server.

usage: judge.py SECONDS stdio COMMAND [ARGUMENT...] | judge.py SECONDS http URL

Connects as the SDK does by default, fetches every list that the server claims to have,
cancels a request that does not exist, and lists the tools again. Prints one JSON object.
"""

import asyncio
import json
import sys
import warnings

from mcp import Client, StdioServerParameters

warnings.simplefilter("ignore")
MOST_PAGES = 200


async def pages(fetch, member):
    """All pages of a list; a list that leads in a circle is a failure."""
    cursor, seen, items = None, set(), 0
    for _ in range(MOST_PAGES):
        page = await (fetch(cursor=cursor) if cursor else fetch())
        items += len(getattr(page, member))
        cursor = page.next_cursor
        if not cursor:
            return items
        if cursor in seen:
            raise RuntimeError("the cursor leads in a circle")
        seen.add(cursor)
    raise RuntimeError("the list does not end")


async def use(server, seconds):
    async with Client(server, read_timeout_seconds=seconds, cache=None) as client:
        claims = client.server_capabilities
        seen = {"version": client.protocol_version}
        if claims.tools:
            seen["tools"] = await pages(client.list_tools, "tools")
        if claims.resources:
            await pages(client.list_resources, "resources")
        if claims.prompts:
            await pages(client.list_prompts, "prompts")
        if client.protocol_version < "2026":
            from mcp import types

            note = types.CancelledNotification(params=types.CancelledNotificationParams(request_id="none"))
            await client.session.send_notification(note)
        if claims.tools:
            await pages(client.list_tools, "tools")
        return seen


def reason(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:400]


async def judge(server, seconds):
    try:
        seen = await asyncio.wait_for(use(server, seconds), 8 * seconds)
        return {"works": True, **seen}
    except BaseException as error:  # whatever it is, it is the verdict
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"works": False, "why": reason(error)}


def main(seconds, kind, *words):
    server = words[0] if kind == "http" else StdioServerParameters(command=words[0], args=list(words[1:]))
    print(json.dumps(asyncio.run(judge(server, float(seconds)))))


main(*sys.argv[1:])
