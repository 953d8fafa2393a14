// What the official TypeScript client makes of a server.
//
// usage: node judge.mjs SECONDS stdio COMMAND [ARGUMENT...] | node judge.mjs SECONDS http URL
//
// Connects, fetches every list that the server claims to have, cancels a request that
// does not exist, and lists the tools again. Prints one JSON object.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [seconds, kind, ...words] = process.argv.slice(2);
const options = { timeout: Number(seconds) * 1000 };
const MOST_PAGES = 200;

async function pages(fetch, member) {
  const seen = new Set();
  let cursor;
  let items = 0;
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await fetch(cursor ? { cursor } : undefined, options);
    items += answer[member].length;
    cursor = answer.nextCursor;
    if (!cursor) return items;
    if (seen.has(cursor)) throw new Error('the cursor leads in a circle');
    seen.add(cursor);
  }
  throw new Error('the list does not end');
}

async function use() {
  const client = new Client({ name: 'judge', version: '1' });
  const transport =
    kind === 'http'
      ? new StreamableHTTPClientTransport(new URL(words[0]))
      : new StdioClientTransport({ command: words[0], args: words.slice(1), stderr: 'ignore' });
  await client.connect(transport, options);
  const claims = client.getServerCapabilities();
  const seen = {};
  const tools = () => pages((...args) => client.listTools(...args), 'tools');
  if (claims.tools) seen.tools = await tools();
  if (claims.resources) await pages((...args) => client.listResources(...args), 'resources');
  if (claims.prompts) await pages((...args) => client.listPrompts(...args), 'prompts');
  await client.notification({ method: 'notifications/cancelled', params: { requestId: 'none' } });
  if (claims.tools) await tools();
  await client.close();
  return seen;
}

function done(verdict) {
  process.stdout.write(`${JSON.stringify(verdict)}\n`, () => process.exit(0));
}

process.on('uncaughtException', (error) => done({ works: false, why: String(error).slice(0, 400) }));
use().then(
  (seen) => done({ works: true, ...seen }),
  (error) => done({ works: false, why: String(error).slice(0, 400) }),
);
