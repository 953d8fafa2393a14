"""The smallest server of the Python SDK over HTTP, on the port that is given."""

import sys

import uvicorn
from mcp.server import MCPServer

server = MCPServer("doubler", log_level="ERROR")


@server.tool()
def double(n: int) -> int:
    """Doubles."""
    return 2 * n


application = server.streamable_http_app(json_response=True, stateless_http=True)
uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
