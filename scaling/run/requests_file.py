"""A user's requests: a file of JSON Lines, read by the load generator's own rules.

The generator sends them under load; where one client is enough, `send` does.
"""

import hashlib
import http.client
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scaling.base.errors import ScalingError, UsageError
from scaling.builds.child_path import workers_path
from scaling.study.application_note import Sent

# The rules are the generator's, which runs outside of this process: it reads the file.
READ = """
import json, sys
from workers.services.load.requests_list import read_requests
from workers.services.load.target import BadInputError
try:
    print(json.dumps([request.document() for request in read_requests(sys.argv[1])]))
except BadInputError as error:
    sys.exit(str(error))
"""


def read_requests_file(file: Path) -> tuple[list[dict[str, Any]], Sent]:
    """The requests of a file, and what the study's first line says of them.

    Raises:
        UsageError: the file cannot be read, or a line is no request; it names file and line.
    """
    with workers_path() as path:
        answer = subprocess.run(
            [sys.executable, "-c", READ, str(file)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"},
            check=False,
        )
    if answer.returncode:
        words = answer.stderr.strip().rpartition("\n")[2]
        if "Traceback" in answer.stderr:
            raise ScalingError(f"--requests {file} cannot be checked: {words}")
        raise UsageError(f"--requests {words}")
    content = file.read_bytes()
    requests = json.loads(answer.stdout)
    return requests, Sent(count=len(requests), sha256=hashlib.sha256(content).hexdigest())


def send(connection: http.client.HTTPConnection, request: Mapping[str, Any]) -> None:
    """Send one of them; the caller reads the answer.

    Raises:
        OSError: the connection is closed, or cannot be opened.
    """
    connection.request(
        request.get("method", "GET"),
        request.get("path", "/"),
        request.get("body", "").encode() or None,
        request.get("headers", {}),
    )
