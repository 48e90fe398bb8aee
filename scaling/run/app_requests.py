"""A user's requests, by the load generator's own rules.

They come from a file of JSON Lines, from one that a browser has saved, or from the application's
own schema.
"""

import contextlib
import hashlib
import json
import subprocess
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import plural
from scaling.builds.environments import own_environment
from scaling.run.har import SUFFIX, requests_in_har
from scaling.run.redaction import hide, secrets_in
from scaling.study.application_note import SentRequests

WEBSOCKET = "websocket"  # the key of a request that is sent over one
WEBSOCKETS = "websockets"  # the requirement that server and generator have for that

# The rules are the generator's, which runs outside of this process: it reads the file.
READ = """
import json, sys
from workers.services.load.requests_list import read_requests
from workers.services.load.targets import BadInputError
try:
    print(json.dumps([request.document() for request in read_requests(sys.argv[1])]))
except BadInputError as error:
    sys.exit(str(error))
"""

CHECK = """
import json, sys
from workers.services.load.requests_list import request_from
from workers.services.load.targets import BadInputError
found, refused = [], []
for document in json.load(sys.stdin):
    try:
        found.append(request_from(document, document["path"]).document())
    except BadInputError as error:
        refused.append(str(error))
print(json.dumps([found, refused]))
"""


def read_requests_file(
    file: Path, say: Callable[[str], None] = lambda _: None, host: str = ""
) -> tuple[list[dict[str, Any]], SentRequests]:
    """The requests of a file, and what the study's first line says of them.

    It has a request a line, or is a HAR file, of which `host` may name the one to send to; `say`
    gets what of that is not sent.

    Raises:
        UsageError: the file cannot be read, or a line is no request; it names file and line.
    """
    if file.suffix == SUFFIX:
        return sendable(*requests_in_har(file, host), say)
    if host:
        raise UsageError(f"--host {host}: {file.name} has no hosts, only a .har file has")
    try:
        requests = json.loads(_by_the_generators_rules(READ, str(file)))
    except UsageError as refused:
        raise UsageError(hide(str(refused), secrets_in(_objects_in(file)))) from None
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return requests, SentRequests(count=len(requests), sha256=digest)


def _objects_in(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that was refused, whatever is wrong with them."""
    with contextlib.suppress(OSError):
        for line in file.read_bytes().removeprefix(BOM_UTF8).splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                if isinstance(found := json.loads(line), dict):
                    yield found


def sendable(
    documents: Sequence[Mapping[str, Any]],
    source: str,
    notes: Iterable[str],
    say: Callable[[str], None],
) -> tuple[list[dict[str, Any]], SentRequests]:
    """The requests that the generator can send.

    `say` gets their number and `source`, the `notes`, and the requests that cannot be sent.

    Raises:
        UsageError: it can send none of them.
    """
    text = json.dumps(documents)
    requests, refused = json.loads(_by_the_generators_rules(CHECK, given=text))
    secrets = secrets_in(documents)
    count = sum(each.get("weight", 1) for each in requests)
    own = f"{plural(count, 'request')} {source}"
    for line in (own, *notes, *(f"left out: {each}" for each in refused)):
        say(hide(line, secrets))
    if not requests:
        raise UsageError("--requests: none of them can be sent")
    digest = hashlib.sha256(text.encode()).hexdigest()
    return requests, SentRequests(count=len(requests), sha256=digest)


def _by_the_generators_rules(program: str, *arguments: str, given: str = "") -> str:
    """The output of a program that imports the generator."""
    answer = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        input=given,
        capture_output=True,
        text=True,
        env=own_environment(),
        check=False,
    )
    if answer.returncode:
        words = answer.stderr.strip().rpartition("\n")[2]
        if "Traceback" in answer.stderr:
            raise ScalingError(f"--requests {' '.join(arguments)} cannot be checked: {words}")
        raise UsageError(f"--requests {words}")
    return answer.stdout


def requirements_of(requests: Iterable[Mapping[str, Any]]) -> list[str]:
    """The packages that must be installed where requests are answered and sent from."""
    return [WEBSOCKETS] * any(WEBSOCKET in each for each in requests)
