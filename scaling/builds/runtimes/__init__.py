"""Other runtimes than Python that run the same program: Go, Node and Bun, for `spawn`.

A runtime is an arm of the study like any build. Its program (`programs/`) speaks as `python -m
workers` does, a cell in and a record out, so its runs stand in the same blocks and journal, are
repeated as often and get the same intervals. Those that are not on PATH are told in the plan and
left out. So is Factor, of which factor-2025 has figures too: none of the package registries has it.
"""

from scaling.builds.runtimes.known import OWN_LOOP, RUNTIMES, Runtime

__all__ = ["OWN_LOOP", "RUNTIMES", "Runtime"]
