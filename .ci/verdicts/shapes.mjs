// Adds the opinion of the TypeScript SDK to the lines of shapes.py.

import { createInterface } from 'node:readline';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';

const models = {
  initialize: types.InitializeResultSchema,
  'tools/list': types.ListToolsResultSchema,
  'resources/list': types.ListResourcesResultSchema,
  'resources/templates/list': types.ListResourceTemplatesResultSchema,
  'prompts/list': types.ListPromptsResultSchema,
};

function takes({ method, result }) {
  const envelope = types.JSONRPCMessageSchema.safeParse({ jsonrpc: '2.0', id: 1, result });
  const read = models[method].safeParse(result);
  if (!envelope.success || !read.success) return false;
  if (method === 'initialize') return types.SUPPORTED_PROTOCOL_VERSIONS.includes(read.data.protocolVersion);
  if (method !== 'tools/list') return true;
  // As the client does when it has fetched a list.
  const validator = new AjvJsonSchemaValidator();
  try {
    for (const tool of read.data.tools) if (tool.outputSchema) validator.getValidator(tool.outputSchema);
    return true;
  } catch {
    return false;
  }
}

/** The result that a line stands for. */
function bent(whole, { path, value }) {
  const result = structuredClone(whole);
  let here = result;
  for (const key of path.slice(0, -1)) here = here[key];
  const last = path[path.length - 1];
  if (value !== undefined) here[last] = value;
  else if (Array.isArray(here)) here.splice(last, 1);
  else delete here[last];
  return result;
}

let whole;
for await (const line of createInterface({ input: process.stdin })) {
  const row = JSON.parse(line);
  if (row.path === undefined) whole = row.result;
  const result = row.path === undefined ? row.result : bent(whole, row);
  // This client has no modern era.
  if (row.version !== '2026-07-28') row.typescript = takes({ method: row.method, result });
  console.log(JSON.stringify(row));
}
