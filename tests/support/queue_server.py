"""`python -m tests.support.queue_server LOG MS`: serves one request at a time and logs each.

A line per answer: when the kernel received the request and when it was answered, monotonic ns.
The kernel's stamp makes what was late to wake up part of the service time, as it is for a client.
Requests are served in the order in which they came, whatever their connection.
"""

import heapq
import json
import select
import socket
import struct
import sys
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
SO_TIMESTAMPNS = 35  # Linux; the socket module has no name for it
STAMP = struct.Struct("qq")


def main(log: str, service_ms: float) -> None:
    """Serve until standard input ends; the first line printed holds the URL."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    listening.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    print(json.dumps({"urls": [f"http://127.0.0.1:{listening.getsockname()[1]}"]}), flush=True)
    poll = select.epoll()
    poll.register(listening, select.EPOLLIN)
    poll.register(sys.stdin, select.EPOLLIN)
    connections: dict[int, socket.socket] = {}
    waiting: list[tuple[int, int]] = []  # when received, file
    with open(log, "w", buffering=1 << 20) as lines:  # noqa: PTH123
        while True:
            for file, _ in poll.poll(0 if waiting else -1):
                if file == sys.stdin.fileno():
                    return
                if file == listening.fileno():
                    connection, _ = listening.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                    connections[connection.fileno()] = connection
                    poll.register(connection, select.EPOLLIN)
                elif received_ns := receive(connections[file]):
                    heapq.heappush(waiting, (received_ns, file))
                else:
                    poll.unregister(file)
                    connections.pop(file).close()
            if waiting:
                received_ns, file = heapq.heappop(waiting)
                time.sleep(service_ms / 1_000)
                if file in connections:
                    connections[file].send(ANSWER)
                lines.write(f"{received_ns} {time.monotonic_ns()}\n")


def receive(connection: socket.socket) -> int:
    """Read a request; return when the kernel received it, monotonic ns, 0 at the end."""
    try:
        data, ancillary, _, _ = connection.recvmsg(65_536, 256)
    except ConnectionResetError:
        return 0
    if not data:
        return 0
    ahead_ns = time.time_ns() - time.monotonic_ns()
    for _, _, value in ancillary:
        seconds, ns = STAMP.unpack(value[: STAMP.size])
        return int(seconds * 10**9 + ns - ahead_ns)
    return time.monotonic_ns()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
