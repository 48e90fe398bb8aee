"""datasette (ASGI): SQL answered as JSON and as pages; every query runs in a thread of its own pool."""
