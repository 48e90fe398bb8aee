"""TLS contexts over loopback: version 1.3 alone, and a certificate that is made at run time."""

import json
import ssl
import subprocess
import sys
import tempfile
from functools import cache
from typing import NamedTuple

from workers.workloads.parts.loopback import Contexts

LIMIT_S = 30.0  # to make a certificate, which takes a quarter of a second


class CertificateError(ImportError):
    """No certificate could be made; says why."""


class Certificate(NamedTuple):
    """PEM texts: whom to trust, and the private key with the certificate."""

    authority: str
    chain: str


@cache
def certificate() -> Certificate:
    """Have a certificate made by another process, once in this interpreter.

    Raises:
        CertificateError: it could not be made; trustme is not installed, say.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workers.workloads.parts.certificate"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        raise CertificateError(f"no certificate could be made in {LIMIT_S:g} s") from None
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2]
        raise CertificateError(f"no certificate could be made: {why}")
    return Certificate(**json.loads(done.stdout))


def new_contexts() -> Contexts:
    """Make a context for each end; the client checks the server's certificate and address."""
    made = certificate()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete_on_close=False) as file:
        file.write(made.chain)
        file.close()  # ssl reads files only
        server.load_cert_chain(file.name)
    client = ssl.create_default_context(cadata=made.authority)
    server.minimum_version = client.minimum_version = ssl.TLSVersion.TLSv1_3
    return Contexts(server, client)


@cache
def shared_contexts() -> Contexts:
    """The contexts that all workers of this interpreter share.

    Made by whoever asks first: the host, which loads a workload before it starts any thread.
    """
    return new_contexts()
