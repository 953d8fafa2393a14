"""Answers bent in every way that the SDKs' models have an opinion on, and that of Python's.

usage: shapes.py >FILE, then node shapes.mjs <FILE >OTHER

A line has method, version and either a whole result, or the path and the value (none: taken
away) by which the last whole result is bent; and whether the client takes it. The crate's
tests hold its own check against these lines.
"""

import copy
import json

from mcp_types import InitializeResult, methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string", "description": "A."}, "b": {"type": "integer"}},
    "required": ["a"],
}
TOOL = {
    "name": "add",
    "title": "Add",
    "description": "Adds.",
    "inputSchema": SCHEMA,
    "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
    "annotations": {"title": "Add", "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    "icons": [{"src": "data:image/png;base64,AA==", "mimeType": "image/png", "sizes": ["48x48"], "theme": "light"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"x/y": 1},
}
RESOURCE = {
    "uri": "file:///a",
    "name": "a",
    "title": "A",
    "description": "A.",
    "mimeType": "text/plain",
    "size": 3,
    "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-31T12:30:00Z"},
    "icons": [{"src": "https://a/b.png"}],
    "_meta": {},
}
TEMPLATE = {key: value for key, value in RESOURCE.items() if key not in ("uri", "size")} | {"uriTemplate": "file:///{a}"}
PROMPT = {
    "name": "p",
    "title": "P",
    "description": "P.",
    "arguments": [{"name": "a", "description": "A.", "required": True}],
    "icons": [{"src": "https://a/b.png"}],
    "_meta": {},
}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": False},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
    "experimental": {"x": {}},
}
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": CAPABILITIES,
    "serverInfo": {"name": "s", "version": "1", "title": "S", "websiteUrl": "https://a", "description": "d", "icons": []},
    "instructions": "Do.",
    "_meta": {},
}
LISTS = {
    "initialize": GREETING,
    "tools/list": {"tools": [TOOL], "nextCursor": "x", "_meta": {}},
    "resources/list": {"resources": [RESOURCE], "nextCursor": "x"},
    "resources/templates/list": {"resourceTemplates": [TEMPLATE], "nextCursor": "x"},
    "prompts/list": {"prompts": [PROMPT], "nextCursor": "x"},
}
MODERN = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
DISCOVER = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": CAPABILITIES,
    "instructions": "Do.",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
    **MODERN,
}
BENT = [None, True, 0, 1.5, "true", "5", "word", [], ["a"], {}, {"a": 1}, [{}], -1, 2]
ABSENT = object()


def places(value, path=()):
    """Every member inside, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*path, index)
            yield from places(inner, (*path, index))


def bend(value, path, new):
    copied = copy.deepcopy(value)
    here = copied
    for key in path[:-1]:
        here = here[key]
    if new is ABSENT:
        del here[path[-1]]
    else:
        here[path[-1]] = new
    return copied


def cases(result):
    """The result and how it was written down."""
    yield result, {"result": result}
    for path in places(result):
        yield bend(result, path, ABSENT), {"path": path}
        for new in BENT:
            yield bend(result, path, new), {"path": path, "value": new}


EXTRA = {
    "tools/list": [
        {"tools": [{**TOOL, "outputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}}]},
        {"tools": [{**TOOL, "outputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}}]},
        {"tools": [{**TOOL, "outputSchema": {"type": "object", "properties": {"a": {"$ref": "other.json"}}}}]},
        {"tools": [{**TOOL, "outputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}}]},
        {"tools": [{**TOOL, "outputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}}]},
        {"tools": [{**TOOL, "inputSchema": {"$ref": "#"}}]},
        {"tools": [{**TOOL, "inputSchema": {**SCHEMA, "properties": {"a": True}}}]},
        {"tools": [{**TOOL, "inputSchema": {**SCHEMA, "properties": {"a": []}}}]},
        {"tools": [{"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}}}}}]},
        {"tools": []},
        {},
        [],
    ],
    "initialize": [
        {**GREETING, "protocolVersion": version} for version in ("2025-06-18", "2024-11-05", "2024-10-07", "1.0", "2026-07-28", "")
    ],
    "resources/list": [
        {"resources": [{**RESOURCE, "annotations": {"lastModified": date}}]}
        for date in ("2026-01-31", "2026-01-31T12:30Z", "2026-01-31T12:30:00+01:00", "2026-01-31T12:30:00", "2026-01-31T12:30:00.123Z")
    ],
}


def python_takes(method, version, result):
    """As the client's send_request does it."""
    try:
        if not isinstance(result, dict):
            return False
        methods.validate_server_result(method, version, result)
        from mcp.client.session import _later_revision_fields

        raw = {key: value for key, value in result.items() if key not in _later_revision_fields(method, version)}
        parsed = TypeAdapter(methods.MONOLITH_RESULTS[method]).validate_python(raw, by_name=False)
        return not isinstance(parsed, InitializeResult) or parsed.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    except ValueError:
        return False


def main():
    rows = [(method, "2025-11-25", *case) for method, result in LISTS.items() for case in cases(result)]
    rows += [(method, "2025-11-25", result, {"result": result}) for method, all in EXTRA.items() for result in all]
    for method, result in [("tools/list", {"tools": [TOOL], **MODERN}), ("server/discover", DISCOVER)]:
        rows += [(method, "2026-07-28", *case) for case in cases(result)]
    for method, version, result, written in rows:
        takes = python_takes(method, version, result)
        print(json.dumps({"method": method, "version": version, "python": takes, **written}, separators=(",", ":")))


main()
