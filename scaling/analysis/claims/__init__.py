"""Claims that others make about asyncio and threads without the GIL, beside our figures."""
