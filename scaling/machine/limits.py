"""Limits on connections: open files of a process, and local ports."""

from pathlib import Path

try:
    import resource
except ImportError:  # Windows has no such limit

    def open_files_limit() -> int | None:
        """This system has no such limit."""
        return None
else:

    def open_files_limit() -> int | None:
        """The hard limit on open files of this process and its children; None: there is none."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if hard == resource.RLIM_INFINITY else hard


PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def local_ports() -> int | None:
    """The number of ports of an address for connections to one port of another, or None."""
    try:
        first, last = map(int, PORT_RANGE.read_text("ascii").split())
    except (OSError, ValueError):
        return None
    return last - first + 1
