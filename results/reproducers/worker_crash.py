"""One of two workers crashes; then the other one is asked twenty times.

    python3.14t worker_crash.py threads      no answer: the crash has ended all threads
    python3.14t worker_crash.py processes    twenty answers

Each worker has an event loop and a listener of its own. On 3.14 it is the same.
"""

import asyncio
import os
import signal
import socket
import sys
import threading

QUESTION, CRASH, ANSWER = b"?", b"!", b"."


async def serve(listener):
    async def answer(reader, writer):
        if await reader.readexactly(1) == CRASH:
            os.kill(os.getpid(), signal.SIGSEGV)  # as a fault in an extension module does
        writer.write(ANSWER)
        writer.close()

    async with await asyncio.start_server(answer, sock=listener) as server:
        await server.serve_forever()


def answers(address, what):
    try:
        with socket.create_connection(address) as connection:
            connection.sendall(what)
            return connection.recv(1) == ANSWER
    except OSError:
        return False


listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
first, second = [each.getsockname() for each in listeners]
processes = []
for group in [listeners] if sys.argv[1] == "threads" else [[each] for each in listeners]:
    processes.append(os.fork())
    if processes[-1] == 0:
        for each in group:
            threading.Thread(target=asyncio.run, args=(serve(each),)).start()
        signal.pause()
for each in listeners:
    each.close()  # they are the workers'
assert answers(first, QUESTION) and answers(second, QUESTION)
answers(first, CRASH)
os.waitpid(processes.pop(0), 0)
print("answers_of_the_other", sum(answers(second, QUESTION) for _ in range(20)))
for each in processes:
    os.kill(each, signal.SIGKILL)
