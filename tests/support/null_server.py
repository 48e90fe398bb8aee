"""nginx that answers every request alike: a server that costs next to nothing."""

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scaling.builds.installed import program
from workers.system import free_port

NGINX = program("nginx")
LIMIT_S = 10
CONFIGURATION = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/a;
    proxy_temp_path {folder}/b;
    fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d;
    scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200 "hello"; }}
    }}
}}
"""


@contextlib.contextmanager
def running_nginx() -> Iterator[str]:
    """Serve while the block runs; give the URL.

    Raises:
        RuntimeError: nginx is not installed, or does not start.
    """
    if NGINX is None:
        raise RuntimeError("nginx is not installed")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "nginx.conf")
        file.write_text(CONFIGURATION.format(folder=folder, port=port))
        errors = Path(folder, "errors")
        with subprocess.Popen([NGINX, "-p", folder, "-c", file, "-e", errors]) as nginx:
            try:
                wait_for(port, nginx)
                yield f"http://127.0.0.1:{port}/"
            finally:
                nginx.terminate()


def wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Wait until a server accepts connections.

    Raises:
        RuntimeError: it has ended, or does not in time.
    """
    deadline = time.monotonic() + LIMIT_S
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError("nginx does not start")
