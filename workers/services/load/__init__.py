"""A load generator for HTTP/1.1, length-prefixed TCP, and messages to rooms of WebSockets or event
streams, free of coordinated omission.

`python -m workers.services.load URL --rate 5000 --seconds 10` sends requests at times that are
fixed beforehand (open loop) and counts each one's latency from the time it was due. With
`--rate max` every connection always has a request in flight (closed loop).
"""
