"""`python -m workers.workloads.parts.certificate`: make a test certificate for 127.0.0.1.

It runs in a separate process, since what it imports (trustme on cryptography, with its own OpenSSL)
must not be in the memory of a measured process, and does not load in sub-interpreters.
Prints one line of JSON, `{"authority": PEM, "chain": PEM of private key and certificate}`.
"""

import json
import sys

from workers.cell import LOOPBACK


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
