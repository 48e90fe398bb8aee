"""mcp (ASGI): a server of the MCP SDK over streamable HTTP, and a stream of a model's tokens."""
