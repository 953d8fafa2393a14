// The smallest server of the TypeScript SDK over HTTP, on the port that is given.
import http from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import * as z from 'zod';

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'doubler', version: '1.0.0' });
  server.registerTool(
    'double',
    { description: 'Doubles.', inputSchema: z.object({ n: z.number().int() }) },
    async ({ n }) => ({ content: [{ type: 'text', text: String(2 * n) }] }),
  );
  return server;
}, { responseMode: 'json' });
const handle = toNodeHandler(handler);
http.createServer((request, response) => handle(request, response)).listen(Number(process.argv[2]), '127.0.0.1');
