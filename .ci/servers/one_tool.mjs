// The smallest server of the current TypeScript SDK, over its standard streams. The
// SDK answers both eras when it makes the server for each opening; a server that is
// connected by hand, as told by `connect`, knows only the handshake.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const make = () => {
  const server = new McpServer({ name: 'one-tool', version: '1.0.0' });
  server.registerTool(
    'double',
    { description: 'Doubles.', inputSchema: z.object({ n: z.number().int() }) },
    async ({ n }) => ({ content: [{ type: 'text', text: String(2 * n) }] }),
  );
  return server;
};
if (process.argv[2] === 'connect') {
  await make().connect(new StdioServerTransport());
} else {
  serveStdio(make);
}
