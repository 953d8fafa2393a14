// Drives the bridge with the TypeScript MCP clients (the current one in both of its
// eras, and the older SDK that most hosts embed) over HTTP and stdio, and with a
// WebSocket client.
//
// usage: node drive.mjs BRIDGE FILE MCP_URL WS_URL

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import WebSocket from 'ws';

const [bridge, file, mcpUrl, wsUrl] = process.argv.slice(2);
const self = { name: 'drive', version: '1' };
const pipes = { command: bridge, args: ['stdio', file, 'project=none', 'analysis=wait'], stderr: 'ignore' };

/** Discovery, list, help, a read, a write and an error. */
async function explore(client, where) {
  const { tools } = await client.listTools();
  assert.equal(tools.length, 15);
  assert.equal(tools[0].name, 'ghidra.help');
  const call = (name, args) => client.callTool({ name, arguments: args });

  const help = await call('ghidra.help', {});
  assert.ok(!help.isError);
  assert.equal(help.structuredContent.domains.length, 14);

  const read = await call('ghidra.function', { operation: 'list', params: { filter: { name: 'main' } } });
  assert.ok(!read.isError, JSON.stringify(read));
  const main = read.structuredContent.result.items.find((row) => row.name === 'main');
  assert.ok(main, JSON.stringify(read));

  const text = `written by ${where}`;
  const resource = { address: main.entry, type: 'plate', text };
  const selector = { address: main.entry, type: 'plate' };
  const written = await call('ghidra.comment', { operation: 'create', params: { resource } });
  assert.ok(!written.isError, JSON.stringify(written));
  const found = await call('ghidra.comment', { operation: 'get', params: { selector } });
  assert.equal(found.structuredContent.result.text, text);

  // The same once more is a tool's error, whole and fit for the output schema.
  const twice = await call('ghidra.comment', { operation: 'create', params: { resource } });
  assert.equal(twice.isError, true);
  assert.equal(twice.structuredContent.status, 409);
  assert.equal(twice.structuredContent.code, 'comment_exists');
  assert.deepEqual(JSON.parse(twice.content[0].text), twice.structuredContent);
  const gone = await call('ghidra.comment', { operation: 'delete', params: { selector } });
  assert.ok(!gone.isError, JSON.stringify(gone));

  // Old transports show our JSON as text, new ones the code.
  await assert.rejects(call('ghidra.nope', {}), (error) => error.code === -32602 || /-32602/.test(error.message));
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0].uri });
  assert.equal(JSON.parse(contents[0].text).tools.length, 15);
  await client.close();
}

async function current(where, versionNegotiation, version, transport) {
  const client = new Client(self, { versionNegotiation });
  await client.connect(transport);
  assert.equal(client.getNegotiatedProtocolVersion(), version);
  await explore(client, where);
  console.log(`${where}: ${version} fine`);
}

async function old(where, transport) {
  const client = new OldClient(self);
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, 'ghidra-bridge');
  await explore(client, where);
  console.log(`${where}: fine`);
}

/** JSON-RPC over one WebSocket: pipelined reads, a write, errors, a goodbye. */
async function webSocket() {
  const socket = new WebSocket(wsUrl);
  const inbox = [];
  const waiting = [];
  socket.on('message', (data, isBinary) => {
    assert.ok(!isBinary);
    const message = JSON.parse(data.toString());
    const next = waiting.shift();
    if (next) next(message); else inbox.push(message);
  });
  const receive = () => (inbox.length ? Promise.resolve(inbox.shift()) : new Promise((take) => waiting.push(take)));
  const send = (id, method, params) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  const ask = async (id, method, params) => {
    send(id, method, params);
    const reply = await receive();
    assert.equal(reply.id, id);
    return reply;
  };

  const ready = await receive();
  assert.equal(ready.method, 'ghidra.ready');
  assert.deepEqual(Object.keys(ready.params), ['session_id', 'program_name']);
  const contract = await ask('contract', 'interface.get', {});
  assert.equal(contract.result.methods.length, 56);

  const many = 500;
  for (let id = 0; id < many; id++) send(id, 'address.resolve', { selector: { address: 'main' } });
  const seen = new Set();
  for (let i = 0; i < many; i++) {
    const reply = await receive();
    assert.ok(reply.result, JSON.stringify(reply));
    seen.add(reply.id);
  }
  assert.equal(seen.size, many);

  const { result } = await ask('list', 'function.list', { filter: { name: 'main' } });
  const { entry } = result.items.find((row) => row.name === 'main');
  const resource = { address: entry, type: 'post', text: 'written over WebSocket' };
  assert.ok((await ask('write', 'comment.create', { resource })).result);
  const twice = await ask('twice', 'comment.create', { resource });
  assert.equal(twice.error.code, -32000);
  assert.equal(twice.error.data.code, 'comment_exists');
  assert.ok((await ask('undo', 'comment.delete', { selector: { address: entry, type: 'post' } })).result);

  socket.send('{');
  assert.equal((await receive()).error.code, -32700);
  const pong = new Promise((take) => socket.once('pong', (data) => take(data.toString())));
  socket.ping('there?');
  assert.equal(await pong, 'there?');

  // There is one client at a time.
  const second = new WebSocket(wsUrl);
  const status = await new Promise((take) => second.once('unexpected-response', (_, answer) => take(answer.statusCode)));
  assert.equal(status, 409);

  const closed = new Promise((take) => socket.once('close', (code) => take(code)));
  socket.close(1000, 'bye');
  assert.equal(await closed, 1000);
  console.log('ws: fine');
}

const http = () => new StreamableHTTPClientTransport(new URL(mcpUrl));
await current('client http auto', { mode: 'auto' }, '2026-07-28', http());
await current('client http pinned', { mode: { pin: '2026-07-28' } }, '2026-07-28', http());
await current('client http legacy', { mode: 'legacy' }, '2025-11-25', http());
await old('sdk http', new OldHttp(new URL(mcpUrl)));
await webSocket();
await Promise.all([
  current('client stdio auto', { mode: 'auto' }, '2026-07-28', new StdioClientTransport(pipes)),
  current('client stdio legacy', { mode: 'legacy' }, '2025-11-25', new StdioClientTransport(pipes)),
  old('sdk stdio', new OldStdio(pipes)),
]);
process.exit(0);
