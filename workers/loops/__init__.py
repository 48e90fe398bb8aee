"""The event loops, and the async libraries that run on them."""
