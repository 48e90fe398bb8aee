"""The machine as a journal describes it: its hardware and system, and a random id.

No host name, user name or path is read: people publish their journals. The id distinguishes two
machines of one kind, so that a journal is never resumed on another. Beside it the machine keeps a
random key, which is published nowhere: digests made with it do not give away what a guess could
find (`keyed_digest`).
"""

import hashlib
import hmac
import os
import platform
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

import platformdirs
import psutil

from scaling.base.errors import ScalingError
from scaling.base.files import text_or_empty, whole
from scaling.journal.record import Machine
from scaling.machine.topology import Topology

# Names another folder than the user's own for what outlives a run: for tests and read-only homes.
STATE_VARIABLE = "SCALING_STATE"
ID_BYTES, KEY_BYTES = 16, 32

# Names of hypervisors in the DMI tables, and the names that people know.
HYPERVISORS = {
    "qemu": "kvm",
    "kvm": "kvm",
    "amazon ec2": "kvm",
    "google compute engine": "kvm",
    "openstack": "kvm",
    "vmware": "vmware",
    "virtualbox": "virtualbox",
    "innotek": "virtualbox",
    "microsoft corporation virtual machine": "hyper-v",
    "xen": "xen",
    "parallels": "parallels",
    "bhyve": "bhyve",
}


def describe_machine(topology: Topology, environment: Mapping[str, str] = os.environ) -> Machine:
    """The machine for a journal's first line.

    Raises:
        ScalingError: the id cannot be kept.
    """
    return Machine(
        id=machine_id(state_folder(environment)),
        cpu_model=topology.cpu_model,
        physical_cores=topology.physical_cores,
        logical_cpus=topology.logical_cpus,
        usable_cpus=topology.usable_cpus,
        efficiency_cpus=len(topology.efficiency_cpus),
        numa_nodes=len(topology.numa_nodes) or None,
        caches=len(topology.caches) or None,
        cpu_quota=topology.cpu_quota,
        memory_bytes=psutil.virtual_memory().total,
        kernel=f"{platform.system()} {platform.release()}".strip() or None,
        system=platform.system() or None,
        libc=" ".join(platform.libc_ver()).strip() or None,
        virtualised=virtualised(),
    )


def state_folder(environment: Mapping[str, str]) -> Path:
    """The folder for what must outlive a run."""
    chosen = environment.get(STATE_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_state_path("scaling", appauthor=False)


def machine_id(folder: Path) -> str:
    """The random id in `folder`, made on first use.

    Raises:
        ScalingError: the folder cannot be written to.
    """
    return _kept(folder / "machine-id", ID_BYTES, 0o644, "the random id of this machine")


def keyed_digest(text: str, folder: Path) -> tuple[str, str]:
    """A digest of a text with the machine's key, and which key that is: 16 and 8 digits.

    Two digests with the same key are equal where the texts are; with different keys they say
    nothing about each other. The key is in `folder`, made on first use, for its user alone.

    Raises:
        ScalingError: the folder cannot be written to.
    """
    kept = _kept(folder / "digest-key", KEY_BYTES, 0o600, "the key of this machine's digests")
    key = bytes.fromhex(kept)
    return hmac.digest(key, text.encode(), "sha256").hex()[:16], hashlib.sha256(key).hexdigest()[:8]


def _kept(file: Path, size: int, mode: int, what: str) -> str:
    """So many random bytes that a file keeps, in hexadecimal; made where it has none.

    Raises:
        ScalingError: the folder cannot be written to.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not _digits_in(file, size):
            with whole(file) as unfinished:
                unfinished.touch(mode)
                unfinished.write_text(f"{secrets.token_hex(size)}\n")
        return _digits_in(file, size)
    except OSError as error:
        raise ScalingError(
            f"{what} cannot be written to {file.parent} ({error.strerror}). "
            f"Set {STATE_VARIABLE} to a folder that can be written"
        ) from error


def virtualised(root: Path = Path("/")) -> str | None:
    """The hypervisor that this machine runs under, `unknown` if it has no name, or None."""
    xen = text_or_empty(root / "sys/hypervisor/type")
    if xen:
        return xen
    # On x86 the CPU flags say whether the machine is virtual; on ARM only the DMI tables do.
    flags = re.search(r"^flags\s*:(.*)$", text_or_empty(root / "proc/cpuinfo"), re.MULTILINE)
    if flags and "hypervisor" not in flags[1].split():
        return None
    dmi = root / "sys/class/dmi/id"
    vendor = f"{text_or_empty(dmi / 'sys_vendor')} {text_or_empty(dmi / 'product_name')}".casefold()
    if "metal" in vendor:  # a cloud's machine without a hypervisor ("c7g.metal")
        return None
    named = (name for sign, name in HYPERVISORS.items() if sign in vendor)
    return next(named, "unknown" if flags else None)


def _digits_in(file: Path, size: int) -> str:
    text = text_or_empty(file)
    return text if re.fullmatch(rf"[0-9a-f]{{{2 * size}}}", text) else ""
