"""A server that answers every GET alike: so many bytes, so much later, for next to no CPU time.

`python -m workers.services.responder` serves it for anyone to try. It stands for any back end that
takes its time, and is cheap so that what it costs is never mistaken for the cost of asking it.
"""
