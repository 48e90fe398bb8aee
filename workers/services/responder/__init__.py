"""The responder: a server that gives every GET the same answer after a delay, at little CPU cost.

To try it: `python -m workers.services.responder`. It stands for any slow back end. It is cheap, so
that its own cost does not distort that of the client.
"""
