"""The smallest server of fastmcp: over its standard streams, or over HTTP on the port
that is given."""

import sys

from fastmcp import FastMCP

server = FastMCP("one-tool-fast")


@server.tool
def double(n: int) -> int:
    """Doubles."""
    return 2 * n


if len(sys.argv) > 1:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
else:
    server.run(show_banner=False)
