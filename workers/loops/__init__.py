"""Event loops, and the async libraries that run on them."""
