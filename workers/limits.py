"""Limits of the load generator that workloads declare, too: as bounds of their parameters."""

RATE_LEAST, RATE_MOST = 0.01, 1_000_000  # requests per second
CONNECTIONS_MOST = 100_000  # of all workers together
MESSAGE_BYTES_MOST = 1 << 20  # that websockets and aiohttp take, unless told otherwise
