"""A server with one fault of a kind, named on its command line: faulty.py FAULT [PORT].

With a port it serves HTTP, otherwise its standard streams. Each fault is one entry of a
table below; what is not in the tables does nothing. `faulty.py --list` names all.
"""

import gzip
import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KNOWN = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ECHO = {
    "name": "echo",
    "description": "Gives a text back.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def without(value, *names):
    return {key: inner for key, inner in value.items() if key not in names}


def tool(**changes):
    return {**ECHO, **changes}


def schema(**changes):
    return tool(inputSchema={**ECHO["inputSchema"], **changes})


# What is done to the result of initialize.
GREETING = {
    "no-version": lambda it: without(it, "protocolVersion"),
    "no-capabilities": lambda it: without(it, "capabilities"),
    "no-server-info": lambda it: without(it, "serverInfo"),
    "info-without-version": lambda it: {**it, "serverInfo": {"name": "faulty"}},
    "version-1.0": lambda it: {**it, "protocolVersion": "1.0"},
    "version-2024-10-07": lambda it: {**it, "protocolVersion": "2024-10-07"},
    "capabilities-list": lambda it: {**it, "capabilities": []},
    "capability-true": lambda it: {**it, "capabilities": {"tools": True}},
    "capability-null": lambda it: {**it, "capabilities": {"tools": {}, "prompts": None}},
    "instructions-null": lambda it: {**it, "instructions": None},
    "promises-prompts": lambda it: {**it, "capabilities": {"tools": {}, "prompts": {}}},
    "no-capability": lambda it: {**it, "capabilities": {}},
    "title-number": lambda it: {**it, "serverInfo": {**it["serverInfo"], "title": 5}},
}

# The tools that are listed in place of the good one.
TOOLS = {
    "schema-missing": [without(ECHO, "inputSchema")],
    "schema-empty": [tool(inputSchema={})],
    "schema-null": [tool(inputSchema=None)],
    "schema-text": [tool(inputSchema=json.dumps(ECHO["inputSchema"]))],
    "schema-array": [schema(type="array")],
    "schema-types": [schema(type=["object"])],
    "schema-only-ref": [tool(inputSchema={"$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}}})],
    "schema-loop": [schema(properties={"next": {"$ref": "#"}})],
    "properties-list": [schema(properties=[])],
    "property-true": [schema(properties={"text": True})],
    "property-text": [schema(properties={"text": "string"})],
    "required-true": [schema(required=True)],
    "required-null": [schema(required=None)],
    "name-missing": [without(ECHO, "name")],
    "name-number": [tool(name=7)],
    "name-empty": [tool(name="")],
    "description-null": [tool(description=None)],
    "description-list": [tool(description=["a"])],
    "annotations-null": [tool(annotations=None)],
    "hint-text": [tool(annotations={"readOnlyHint": "yes"})],
    "icons-text": [tool(icons="a.png")],
    "output-without-type": [tool(outputSchema={"properties": {}})],
    "output-dangling": [tool(outputSchema={"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}})],
    "twice": [ECHO, ECHO],
    "one-bad-of-many": [*[tool(name=f"t{number}") for number in range(40)], without(ECHO, "inputSchema")],
    "many": [tool(name=f"tool_{number}", description="Does things. " * 20) for number in range(2000)],
    "extra-members": [tool(x_internal={"a": 1}, parameters={})],
    "none": [],
}

# What is done to the result of tools/list.
LIST = {
    "list-bare": lambda it: it["tools"],
    "list-null": lambda it: {"tools": None},
    "list-object": lambda it: {"tools": {"echo": ECHO}},
    "list-missing": lambda it: {},
    "cursor-null": lambda it: {**it, "nextCursor": None},
    "cursor-empty": lambda it: {**it, "nextCursor": ""},
    "cursor-number": lambda it: {**it, "nextCursor": 2},
    "cursor-circle": lambda it: {**it, "nextCursor": "again"},
    "meta-text": lambda it: {**it, "_meta": "x"},
}

# What is done to each answer.
ENVELOPE = {
    "id-text": lambda it: {**it, "id": str(it["id"])},
    "id-float": lambda it: {**it, "id": float(it["id"])},
    "id-null": lambda it: {**it, "id": None},
    "id-other": lambda it: {**it, "id": 4711},
    "id-missing": lambda it: without(it, "id"),
    "jsonrpc-missing": lambda it: without(it, "jsonrpc"),
    "jsonrpc-number": lambda it: {**it, "jsonrpc": 2.0},
    "error-beside": lambda it: {"error": None, **it},
    "extra-envelope": lambda it: {**it, "duration": 3},
    "in-array": lambda it: [it],
    "error-code-text": lambda it: {**it, "error": {**it["error"], "code": "x"}} if "error" in it else it,
    "error-text": lambda it: {**it, "error": "no such method"} if "error" in it else it,
    "result-text": lambda it: {**it, "result": json.dumps(it["result"])} if "result" in it else it,
}

# How an answer is written to a stream of lines.
WRITING = {
    "cr-lf": lambda text: text + "\r\n",
    "cr-only": lambda text: text + "\r",
    "no-line-end": lambda text: text,
    "indented": lambda text: json.dumps(json.loads(text), indent=1) + "\n",
    "mark": lambda text: "\ufeff" + text + "\n",
    "prefixed": lambda text: "answer: " + text + "\n",
    "coloured": lambda text: "\x1b[32m" + text + "\x1b[0m\n",
    "two-lines-apart": lambda text: "\n\n" + text + "\n\n",
    "python-text": lambda text: repr(json.loads(text)) + "\n",
    "logs-before": lambda text: "handled a request\n" + text + "\n",
    "json-logs": lambda text: '{"level": "info"}\n' + text + "\n",
    "trailing-text": lambda text: text + " done\n",
    "wide": lambda text: text + "\n",
    "latin-1": lambda text: text.replace("Gives", "G\xeeves") + "\n",
}

# A process that never becomes a server.
STARTS = {
    "module": lambda: __import__("no_such_module_anywhere"),
    "variable": lambda: os.environ["FAULTY_API_KEY"],
    "variable-on-stdout": lambda: (print("Please set FAULTY_API_KEY first"), sys.exit(0)),
    "variable-chinese": lambda: sys.exit("错误：缺少环境变量 FAULTY_API_KEY"),
    "variable-japanese": lambda: sys.exit("環境変数 FAULTY_API_KEY が設定されていません"),
    "variable-german": lambda: sys.exit("Fehler: Umgebungsvariable FAULTY_API_KEY fehlt"),
    "argument": lambda: sys.exit("usage: faulty --root DIR\nerror: the following arguments are required: --root"),
    "folder": lambda: open("config/settings.json"),
    "port": lambda: sys.exit("OSError: [Errno 98] Address already in use: ('127.0.0.1', 8000)"),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "quiet-end": lambda: sys.exit(0),
    "web": lambda: (print("Listening on http://127.0.0.1:9000", file=sys.stderr, flush=True), time.sleep(600)),
    "silent": lambda: [None for _ in sys.stdin],
    "for-people": lambda: [print("Unknown command: " + line[:30], flush=True) for line in sys.stdin],
    "late": lambda: time.sleep(3),
}

# What a stream server does beside answering.
HABITS = ["unflushed", "framed", "one-answer", "dies-at-cancel", "dies-at-discover", "deaf-at-discover", "dies-at-list", "late-list", "answers-notifications"]

# HTTP: status, headers and body in place of the good answer.
HTTP = {
    "no-type": lambda body: (200, {}, body),
    "text-type": lambda body: (200, {"Content-Type": "text/plain"}, body),
    "json-like-type": lambda body: (200, {"Content-Type": "application/json-rpc"}, body),
    "capital-type": lambda body: (200, {"Content-Type": "Application/JSON; charset=UTF-8"}, body),
    "called-events": lambda body: (200, {"Content-Type": "text/event-stream"}, body),
    "events": lambda body: (200, {"Content-Type": "text/event-stream"}, b"event: message\ndata: " + body + b"\n\n"),
    "events-unended": lambda body: (200, {"Content-Type": "text/event-stream"}, b"data: " + body),
    "events-named": lambda body: (200, {"Content-Type": "text/event-stream"}, b"event: answer\ndata: " + body + b"\n\n"),
    "called-json": lambda body: (200, {"Content-Type": "application/json"}, b"data: " + body + b"\n\n"),
    "packed": lambda body: (200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, gzip.compress(body)),
    "accepted": lambda body: (202, {}, b""),
    "created": lambda body: (201, {"Content-Type": "application/json"}, body),
    "array": lambda body: (200, {"Content-Type": "application/json"}, b"[" + body + b"]"),
    "page": lambda body: (200, {"Content-Type": "text/html"}, b"<!doctype html><title>App</title>"),
    "fails": lambda body: (500, {"Content-Type": "text/plain"}, b"Internal Server Error"),
    "gateway": lambda body: (502, {"Content-Type": "text/html"}, b"<h1>502 Bad Gateway</h1>"),
    "wrong-host": lambda body: (421, {"Content-Type": "text/plain"}, b"Invalid Host header"),
    "key-wanted": lambda body: (403, {"Content-Type": "application/json"}, b'{"message":"Missing X-API-Key"}'),
    "token-wanted": lambda body: (401, {"WWW-Authenticate": "Bearer"}, b'{"error":"invalid_token"}'),
    "login": lambda body: (302, {"Location": "/login"}, b""),
    "notification-400": None,
    "notification-200": None,
    "moved-301": None,
    "moved-307": None,
    "workers": None,
    "other-path": None,
    "plain": None,
}

STDIO = ["good", *GREETING, *TOOLS, *LIST, *ENVELOPE, *WRITING, *STARTS, *HABITS]


def answer(fault, message):
    """The good answer, bent; nothing for a notification."""
    method, ident = message.get("method"), message.get("id")
    if ident is None:
        return None
    reply = {"jsonrpc": "2.0", "id": ident}
    if method == "initialize":
        wanted = message["params"]["protocolVersion"]
        version = wanted if wanted in KNOWN else KNOWN[0]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "faulty", "version": "1"}}
        reply["result"] = GREETING.get(fault, lambda it: it)(result)
    elif method == "ping":
        reply["result"] = {}
    elif method == "tools/list":
        reply["result"] = LIST.get(fault, lambda it: it)({"tools": TOOLS.get(fault, [ECHO])})
    else:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    return ENVELOPE.get(fault, lambda it: it)(reply)


def habit(fault, message):
    method = message.get("method")
    if (fault, method) in [("dies-at-cancel", "notifications/cancelled"), ("dies-at-discover", "server/discover"), ("dies-at-list", "tools/list")]:
        raise ValueError(f"cannot handle {method}")
    if (fault, method) == ("late-list", "tools/list"):
        time.sleep(3)


def stdio(fault):
    STARTS.get(fault, lambda: None)()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    if fault == "framed":
        return framed(source, sink)
    for line in source:
        message = json.loads(line)
        if fault == "deaf-at-discover" and message.get("method") == "server/discover":
            continue
        habit(fault, message)
        reply = answer(fault, message)
        if reply is None and fault == "answers-notifications":
            reply = {"jsonrpc": "2.0", "id": None, "result": {}}
        if reply is None:
            continue
        text = WRITING.get(fault, lambda text: text + "\n")(json.dumps(reply, ensure_ascii=False))
        sink.write(text.encode({"wide": "utf-16-le", "latin-1": "latin-1"}.get(fault, "utf-8")))
        if fault != "unflushed":
            sink.flush()
        if fault == "one-answer":
            return None
    return None


def framed(source, sink):
    """As language servers speak."""
    while True:
        length = 0
        while line := source.readline():
            if not line.strip():
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        else:
            return
        reply = answer("framed", json.loads(source.read(length))) if length else None
        if reply:
            body = json.dumps(reply).encode()
            sink.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            sink.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fault = "plain"
    turns = 0

    def log_message(self, *_):
        pass

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405, {}, b"")

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.fault
        if fault in ("moved-301", "moved-307") and self.path == "/mcp":
            return self.reply(int(fault[-3:]), {"Location": "/mcp/"}, b"")
        if fault == "other-path" and self.path != "/api/mcp":
            return self.reply(404, {"Content-Type": "text/plain"}, b"Not Found")
        reply = answer(fault, message)
        if reply is None:
            return self.reply({"notification-400": 400, "notification-200": 200}.get(fault, 202), {}, b"")
        headers = {"Content-Type": "application/json"}
        if fault == "workers":
            Handler.turns += message["method"] != "initialize"
            headers["Mcp-Session-Id"] = "one"
            if message["method"] != "initialize" and Handler.turns % 2 == 0:
                error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
                return self.reply(400, headers, json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode())
        body = json.dumps(reply).encode()
        make = HTTP.get(fault)
        return self.reply(*make(body)) if make else self.reply(200, headers, body)


def main(fault, port=None):
    if fault == "--list":
        print("\n".join([*(f"stdio {name}" for name in STDIO), *(f"http {name}" for name in HTTP)]))
    elif port is None:
        stdio(fault)
    else:
        Handler.fault = fault
        ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


main(*sys.argv[1:])
