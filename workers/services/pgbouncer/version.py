"""Which pgbouncer it is, and what clients have to know of it."""

import subprocess

KEEPS = (1, 21)  # prepared statements of clients, from that version on


def version(program: str = "pgbouncer") -> str:
    """The version of the program, as in 1.18.0."""
    words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return words.stdout.split()[1]


def keeps_statements(found: str) -> bool:
    """Whether clients of this version may keep prepared statements between transactions."""
    major, minor = found.split(".")[:2]
    return (int(major), int(minor)) >= KEEPS
