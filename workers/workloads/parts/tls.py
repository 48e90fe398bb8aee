"""TLS contexts for loopback: only TLS 1.3, with a certificate made at run time."""

import json
import ssl
import subprocess
import sys
import tempfile
from functools import cache
from typing import NamedTuple

from workers.cell import LOOPBACK

LIMIT_S = 30.0  # for making a certificate, which takes 0.25 s


class CertificateError(ImportError):
    """No certificate could be made; the message says why."""


class Contexts(NamedTuple):
    """TLS contexts for both ends."""

    server: ssl.SSLContext
    client: ssl.SSLContext


@cache
def certificate() -> tuple[str, str]:
    """Make a certificate in another process, once per interpreter.

    Returns PEM texts: the authority to trust, and the private key with the certificate chain.

    Raises:
        CertificateError: it could not be made (trustme is not installed, say).
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workers.workloads.parts.tls"],
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
    made = json.loads(done.stdout)
    return made["authority"], made["chain"]


def new_contexts() -> Contexts:
    """Make a context for each end; the client verifies the server's certificate and address."""
    authority, chain = certificate()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete_on_close=False) as file:
        file.write(chain)
        file.close()  # ssl reads private keys only from files
        server.load_cert_chain(file.name)
    client = ssl.create_default_context(cadata=authority)
    server.minimum_version = client.minimum_version = ssl.TLSVersion.TLSv1_3
    return Contexts(server, client)


@cache
def shared_contexts() -> Contexts:
    """Return the contexts that all workers of this interpreter share.

    The first caller makes them: the host, which loads the workload before it starts a thread.
    """
    return new_contexts()


def are_shared(contexts: Contexts | None) -> bool:
    """Return True if the contexts are those that all workers share."""
    return shared_contexts.cache_info().currsize > 0 and contexts is shared_contexts()


# -------------------------------------------------------------------------------------- certificate
# `python -m workers.workloads.parts.tls`: make a test certificate for 127.0.0.1.
#
# It runs in a separate process, since what it imports (trustme on cryptography, with its own
# OpenSSL) must not be in the memory of a measured process, and does not load in sub-interpreters.
# Prints one line of JSON, `{"authority": PEM, "chain": PEM of private key and certificate}`.


def main() -> int:
    """Print a certificate; return the exit code (1: it could not be made, and why)."""
    try:
        import trustme
    except ImportError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    authority = trustme.CA()
    chain = authority.issue_cert(LOOPBACK).private_key_and_cert_chain_pem
    pems = {"authority": authority.cert_pem, "chain": chain}
    print(json.dumps({name: pem.bytes().decode() for name, pem in pems.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
