"""datasette (ASGI): SQL answered as JSON and as pages; queries run in its own pool of threads."""
