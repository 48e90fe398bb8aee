"""Is an application safe on N loops? Its answers at N = 1 against those of N loops in threads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scaling.analysis.safety.finding import AppCheck
from scaling.base.errors import ScalingError
from scaling.journal.record import ParameterValue
from scaling.run.child import Child

THREADS = (2, 4)  # N to compare with N = 1


def check_application(
    child: Child,
    parameters: Mapping[str, ParameterValue],
    requests: Sequence[Mapping[str, Any]] = ({"path": "/"},),
    *,
    workers: Sequence[int] = THREADS,
    loop: str = "asyncio",
    say: Callable[[str], None] | None = None,
) -> AppCheck:
    """Send every request to the application at N = 1 and in threads at each N of `workers`.

    `child` is that of the arm whose threads are to be checked (`3.14t`), its environment variables
    made as for a run. `parameters` are those of the workload `app`: application, factory,
    interface, lifespan, health. `requests` are objects of the JSON Lines file. `say` gets a line
    before each step. It takes less than 20 s for an application that answers.

    Raises:
        AppCheckError: the application does not work at N = 1; the message has its last lines.
    """
    raise NotImplementedError


class AppCheckError(ScalingError):
    """The application does not work alone; one or two lines say why."""

    exit_code = 2
