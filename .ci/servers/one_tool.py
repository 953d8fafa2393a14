"""The smallest server of the Python SDK, over its standard streams."""

from mcp.server import MCPServer

server = MCPServer("one-tool", log_level="ERROR")


@server.tool()
def double(n: int) -> int:
    """Doubles."""
    return 2 * n


server.run()
