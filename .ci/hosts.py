"""Drives the agents that people use on the command line: each is configured as its page in
docs/clients says, starts the bridge, and asks a model that stands in here. That model sees which
tools it is given: all of ours, or the host has refused some.

usage: hosts.py BRIDGE FILE HOSTS
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "clients"
SEEN = []


def events(*named):
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in named)


def anthropic():
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
               "stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"})


def gemini():
    part = {"content": {"role": "model", "parts": [{"text": "done"}]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return f"data: {json.dumps({'candidates': [part], 'usageMetadata': usage})}\n\n"


def responses():
    text = [{"type": "output_text", "text": "done"}]
    item = {"type": "message", "role": "assistant", "id": "i", "content": text}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}})


def completions():
    delta = {"role": "assistant", "content": "done"}
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m",
             "choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"


class Model(BaseHTTPRequestHandler):
    """A model that has one word to say, in each maker's protocol."""

    def log_message(self, *_):
        pass

    def reply(self, text, kind):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply('{"data": [], "models": []}', "application/json")

    def do_POST(self):
        request = self.rfile.read(int(self.headers["Content-Length"] or 0))
        SEEN.append(json.dumps(json.loads(request).get("tools") or []))
        for path, answer in (("messages", anthropic), ("GenerateContent", gemini),
                             ("responses", responses), ("completions", completions)):
            if path in self.path:
                return self.reply(answer(), "text/event-stream")
        self.reply("{}", "application/json")


def configuration(page, bridge, file):
    block = re.search(r"```(?:json|toml)\n(.*?)```", (PAGES / page).read_text(), re.S)[1]
    placed = re.sub(r'"/[^"]*/ghidra-bridge"', json.dumps(bridge), block)
    return placed.replace('"/bin/ls"', json.dumps(file))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def codex(home, page, url):
    local = {"name": "local", "base_url": f"{url}/v1", "wire_api": "responses", "env_key": "KEY"}
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in local.items())
    write(home / ".codex" / "config.toml",
          f'model = "m"\nmodel_provider = "local"\n[model_providers.local]\n{table}{page}')
    return ["codex", "exec", "--skip-git-repo-check", "hi"], {"KEY": "k"}


def claude(home, page, url):
    write(home / "work" / ".mcp.json", page)
    command = ["claude", "-p", "hi", "--mcp-config", ".mcp.json", "--strict-mcp-config"]
    return command, {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}


def gemini_cli(home, page, url):
    settings = json.loads(page) | {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    write(home / ".gemini" / "settings.json", json.dumps(settings))
    # Servers are started in folders that people trust; without a person, tools are left out that ask.
    write(home / ".gemini" / "trustedFolders.json", json.dumps({str(home / "work"): "TRUST_FOLDER"}))
    command = ["gemini", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "hi"]
    return command, {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": url}


def copilot(home, page, url):
    write(home / ".copilot" / "mcp-config.json", page)
    return ["copilot", "--allow-all-tools", "-p", "hi"], {
        "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "k", "COPILOT_MODEL": "gpt-4.1"}


HOSTS = {"codex.md": codex, "claude-code.md": claude, "gemini-cli.md": gemini_cli,
         "copilot-cli.md": copilot}


def domains(bridge, file):
    """The names of the tools, as the bridge lists them over its pipes."""
    meta = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "hosts", "version": "1"}}}
    lines = [meta, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    run = subprocess.run([bridge, "stdio", file, "tool_names=underscore", "project=none"], text=True,
                         input="".join(json.dumps(line) + "\n" for line in lines),
                         capture_output=True, timeout=60)
    listed = json.loads(run.stdout.splitlines()[-1])["result"]["tools"]
    return [tool["name"] for tool in listed]


def drive(page, setting, wanted, url, bridge, file, hosts):
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        # A home is no project: some take their settings for somebody else's there.
        (home / "work").mkdir()
        command, more = setting(home, configuration(page, bridge, file), url)
        environment = {"PATH": f"{hosts}/node_modules/.bin:{os.environ['PATH']}", "HOME": folder,
                       "XDG_DATA_HOME": folder, "NO_PROXY": "127.0.0.1", "NO_COLOR": "1", **more}
        SEEN.clear()
        run = subprocess.run(command, cwd=home / "work", env=environment, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=180)
        given = max(SEEN, key=len, default="")
        missing = [name for name in wanted if name not in given]
        assert not missing, f"{page}: {missing}\n{run.stdout}{run.stderr}"
        assert run.returncode == 0 and "done" in run.stdout, run.stdout + run.stderr
    print(f"{page.removesuffix('.md')}: all {len(wanted)} tools reach the model")


def main():
    bridge, file, hosts = sys.argv[1:]
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    wanted = domains(bridge, file)
    assert len(wanted) == 15, wanted
    for page, setting in HOSTS.items():
        drive(page, setting, wanted, f"http://127.0.0.1:{model.server_port}", bridge, file, hosts)


main()
