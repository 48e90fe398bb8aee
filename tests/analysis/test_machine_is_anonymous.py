"""A machine is known by its description and a random id that is kept; records can be published."""

import contextlib
import getpass
import platform
from pathlib import Path

import msgspec
import pytest

from scaling.base.errors import ScalingError
from scaling.machine.identity import describe_machine, machine_id, virtualised
from scaling.machine.topology import read_topology


@pytest.mark.parametrize("there", [None, "", "not an id", "0" * 31])
def test_the_id_is_made_once_and_one_that_was_not_written_whole_anew(
    tmp_path: Path, there: str | None
) -> None:
    state = tmp_path / "state" / "scaling"
    if there is not None:
        state.mkdir(parents=True)
        (state / "machine-id").write_text(there)
    made = machine_id(state)
    assert made not in (there, machine_id(tmp_path / "other"))
    assert machine_id(state) == made
    assert [path.name for path in state.iterdir()] == ["machine-id"]


def test_an_unwritable_folder_gets_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ScalingError, match="Set SCALING_STATE to a folder"):
        machine_id(tmp_path / "file" / "state")


def test_nothing_in_a_description_names_the_machine_its_user_or_a_path(tmp_path: Path) -> None:
    environment = {"SCALING_STATE": str(tmp_path)}
    described = describe_machine(read_topology(), environment=environment)
    assert described.id == machine_id(tmp_path)
    assert described.memory_bytes
    values = [value for value in msgspec.structs.astuple(described) if isinstance(value, str)]
    names = [platform.node(), str(tmp_path)]
    with contextlib.suppress(OSError, KeyError):  # in a container a user may have no name
        names.append(getpass.getuser())
    for name in names:
        assert not any(name in value for value in values if name)


VIRTUAL = "processor\t: 0\nflags\t\t: fpu hypervisor sse\n"
REAL = "processor\t: 0\nflags\t\t: fpu sse\n"


@pytest.mark.parametrize(
    ("cpuinfo", "vendor", "product", "expected"),
    [
        (VIRTUAL, "QEMU", "Standard PC", "kvm"),
        (VIRTUAL, "Microsoft Corporation", "Virtual Machine", "hyper-v"),
        (REAL, "Microsoft Corporation", "Surface", None),
        (VIRTUAL, "", "", "unknown"),
        (REAL, "Amazon EC2", "m5.metal", None),
        ("Features\t: fp asimd\n", "Amazon EC2", "c7g.large", "kvm"),
        ("Features\t: fp asimd\n", "Amazon EC2", "c7g.metal", None),
    ],
)
def test_the_hypervisor_is_named_if_it_can_be(
    tmp_path: Path, cpuinfo: str, vendor: str, product: str, expected: str | None
) -> None:
    for name, text in {
        "proc/cpuinfo": cpuinfo,
        "sys/class/dmi/id/sys_vendor": vendor,
        "sys/class/dmi/id/product_name": product,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert virtualised(tmp_path) == expected
