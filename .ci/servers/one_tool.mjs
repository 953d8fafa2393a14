// The smallest server of the current TypeScript SDK, over its standard streams.
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const server = new McpServer({ name: 'one-tool', version: '1.0.0' });
server.registerTool(
  'double',
  { description: 'Doubles.', inputSchema: z.object({ n: z.number().int() }) },
  async ({ n }) => ({ content: [{ type: 'text', text: String(2 * n) }] }),
);
await server.connect(new StdioServerTransport());
