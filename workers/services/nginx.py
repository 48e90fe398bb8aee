"""nginx as a reverse proxy in front of the servers of one run.

To try it: `python -m workers.services.nginx http://127.0.0.1:8000`.
"""

import asyncio
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from workers.cell import LOOPBACK
from workers.services.native import (
    Announced,
    Program,
    own_folder,
    run,
    serving,
)
from workers.services.serving import program_parser, run_program

PLACE = "/.scaling/proof"  # answered with a proof: another process may have the port
ANSWER_S = 1.0  # limit
KEPT = 64  # idle connections to the servers, of each of nginx's processes
CONFIGURATION = """\
# nginx for the time of one run. All else is nginx's default.
daemon off;
worker_processes auto;
pid nginx.pid;
events {{
    worker_connections 4096;
}}
http {{
    access_log off;
    keepalive_requests 1000000;        # else a connection ends after 1,000, within the window
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream application {{
{servers}
{kept}    }}
    server {{
        listen {host}:{port} backlog=4096;
        location = {place} {{
            return 200 {proof};
        }}
        location / {{
            proxy_pass http://application;
            proxy_set_header Host $http_host;
{reused}        }}
    }}
}}
"""
UPSTREAM_KEPT = "        keepalive {kept};\n        keepalive_requests 1000000;\n"
REUSED = '            proxy_http_version 1.1;\n            proxy_set_header Connection "";\n'


def main(arguments: Sequence[str]) -> int:
    """Serve until asked to stop; return the exit code (2: bad option, 1: failed)."""
    parser = program_parser("workers.services.nginx", "Passes requests on to servers.")
    add = parser.add_argument
    add("servers", nargs="+", metavar="URL", help="where requests go, in turn")
    add("--program", default="nginx", help="the program, if it is not on PATH")
    add("--keep-alive", default="True", help="False: a new connection for each request (True)")
    options = parser.parse_args(arguments)
    kept = options.keep_alive == "True"

    @asynccontextmanager
    async def running() -> AsyncIterator[Announced]:
        with own_folder() as folder:
            file, proof = os.path.join(folder.path, "nginx.conf"), secrets.token_hex()

            def command(port: int) -> list[str]:
                with open(file, "w", encoding="utf-8") as configuration:
                    configuration.write(text_for(options.servers, port, proof, kept=kept))
                return [options.program, "-p", folder.path, "-c", file, "-e", "stderr"]

            async def answers(port: int) -> None:
                await require_proof(port, proof)

            async with serving(Program("nginx", command, answers), folder) as server:
                facts = {"version": _version(options.program), "keep_alive": str(kept)}
                yield Announced([f"http://{LOOPBACK}:{server.port}"], facts, server)

    return run(parser, until_eof=options.until_eof, running=running)


def text_for(servers: Sequence[str], port: int, proof: str, *, kept: bool) -> str:
    """The configuration; connections to the servers are `kept`, or made for each request."""
    return CONFIGURATION.format(
        servers="\n".join(f"        server {urlsplit(each).netloc};" for each in servers),
        kept=UPSTREAM_KEPT.format(kept=KEPT) if kept else "",
        reused=REUSED if kept else "",
        host=LOOPBACK,
        port=port,
        place=PLACE,
        proof=proof,
    )


async def require_proof(port: int, proof: str) -> None:
    """Make sure that our nginx answers there: while it retries, another process may have the port.

    Raises:
        OSError: nothing answers, or something else does.
    """
    async with asyncio.timeout(ANSWER_S):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        try:
            writer.write(f"GET {PLACE} HTTP/1.0\r\n\r\n".encode())
            answer = await reader.read()
        finally:
            writer.close()
    if proof.encode() not in answer:
        raise ConnectionError("another process answers on its port")


def _version(program: str) -> str:
    """The version, such as 1.22.1, which nginx prints on standard error."""
    words = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
    return words.rpartition("/")[2].split()[0]


if __name__ == "__main__":
    run_program(main)
