"""A failing workload leaves a complete record that says where it failed, and the child ends."""

import pytest

from tests.support.children import PATIENCE_S, Own, each_case, each_model
from workers import Worker

pytestmark = pytest.mark.slow

# Fails in one of its methods, in worker 1 of 2.
FRAGILE = """
    Where = Literal["load", "setup", "run", "end", "teardown", "exit"]

    @dataclass
    class Theirs(Workload):
        where: Where = parameter("run", "what fails")

        def _fail(self, where: str, worker: Worker | None = None) -> None:
            if self.where == where and (worker is None or worker.index == 1):
                raise LookupError(f"no luck in {where}")

        def load(self) -> None:
            self._fail("load")

        async def setup(self, worker: Worker) -> None:
            self._fail("setup", worker)

        async def run(self, worker: Worker) -> None:
            await asyncio.sleep(0)
            self._fail("run", worker)
            if self.where == "end" and worker.index == 1:
                return
            if self.where == "exit" and worker.index == 1:
                sys.exit(3)
            while worker.running:
                await asyncio.sleep(0.001)
                worker.operations += 1

        async def teardown(self, worker: Worker) -> None:
            self._fail("teardown", worker)
    """


# Each mechanism once, and one with each model: they do not depend on each other.
@each_case(
    ("model", "where", "phase", "error"),
    [
        ("processes", "load", "import", "LookupError: no luck in load"),
        ("threads", "setup", "setup", "LookupError: no luck in setup"),
        ("threads", "end", "warm-up", "RuntimeError: the traffic ended before the worker was s"),
        ("forked", "exit", "warm-up", "SystemExit: 3"),
        ("interpreters", "teardown", "teardown", "LookupError: no luck in teardown"),
    ],
)
def test_phase_worker_and_error_are_named(
    own: Own, model: str, where: str, phase: str, error: str
) -> None:
    failure = own.failure(FRAGILE, workers=2, model=model, parameters={"where": where})
    assert failure.phase == phase
    assert failure.error.startswith(error)
    assert failure.worker in ((0, 1) if where == "load" else (1,))
    assert failure.traceback.splitlines()[-1] == failure.error


@pytest.mark.one_build
def test_what_failed_first_is_the_failure(own: Own) -> None:
    failure = own.failure("""
        @dataclass
        class Theirs(Workload):
            async def setup(self, worker: Worker) -> None:
                raise LookupError("first")
            async def teardown(self, worker: Worker) -> None:
                self.never_set.close()
        """)
    assert (failure.phase, failure.error) == ("setup", "LookupError: first")
    assert "teardown failed, too: AttributeError" in failure.traceback


@pytest.mark.one_build
@pytest.mark.parametrize(
    ("loop", "after", "answer", "phase", "error"),
    [
        ("asyncio", 0, "data[::-1]", "setup", "WrongEchoError: the echo differs from what was"),
        ("uvloop", 9, "None", "warm-up", "ConnectionResetError: the echo server closed the con"),
    ],
)
def test_wrong_echo_is_a_failure(
    own: Own, loop: str, after: int, answer: str, phase: str, error: str
) -> None:
    wrong = f"""
        from workers.workloads.echo import Echo, ProtocolServer

        def answer(server, data):
            server.seen = getattr(server, "seen", 0) + 1
            answer = {answer} if server.seen > {after} else data
            server.transport.write(answer) if answer else server.transport.close()

        ProtocolServer.data_received = answer

        class Theirs(Echo):
            pass
        """
    # Nine round trips take hardly any time, but a machine may stall.
    failure = own.failure(wrong, workers=2, loop=loop, warmup_s=PATIENCE_S)
    assert failure.phase == phase
    assert failure.error.startswith(error)
    assert failure.worker is not None


@pytest.mark.one_build
def test_what_a_workload_prints_is_not_in_the_record(own: Own) -> None:
    prints = """
        from workers.workloads.compute import Compute
        print("{imported}")

        @dataclass
        class Theirs(Compute):
            async def setup(self, worker: Worker) -> None:
                print("}set up{", flush=True)
                os.write(1, b"past Python\\n")
                os.system("echo by another program")
        """
    done = own.finish(prints, model="forked", workers=2)
    assert done.record.outcome == "measured"
    assert done.stdout == done.stdout.strip() + "\n"
    for text in ("{imported}", "}set up{", "past Python", "by another program"):
        assert text in done.stderr
    assert done.stderr.count("{imported}") == 1  # before the fork


@pytest.mark.one_build
def test_first_three_errors_are_kept_and_all_counted() -> None:
    worker = Worker(0, 1, {})
    for number in range(5):
        worker.fail(f"error {number}")
    assert (worker.errors, worker.error_samples) == (5, ["error 0", "error 1", "error 2"])


@pytest.mark.one_build
def test_figure_that_is_no_number_fails_the_run_and_all_is_closed(own: Own) -> None:
    done = own.finish(
        """
        @dataclass
        class Theirs(Workload):
            finite = True
            async def run(self, worker: Worker) -> None:
                worker.figures["settle_s"] = float("nan")
            async def teardown(self, worker: Worker) -> None:
                print("closed all the same", file=sys.stderr)
        """,
        model="processes",
    )
    error = "ValueError: figures['settle_s']: expected a finite number, got nan"
    assert (done.failure.phase, done.failure.error) == ("stop", error)
    assert "closed all the same" in done.stderr


# The host's patience is a minute; one that has less shows the same. It has it all until the workers
# are there, however long a machine takes to start them, and gives them more time for last words.
IMPATIENT = """\
import workers.host.hosting
import workers.host.models

workers.host.models.STACKS_S = 3
order = workers.host.hosting.Host._order

def impatiently(*arguments):
    workers.host.hosting.LIMIT_S = 1.5
    order(*arguments)

workers.host.hosting.Host._order = impatiently
"""


@each_model("threads", "forked")
def test_hung_worker_is_given_up_with_its_stack(own: Own, model: str) -> None:
    hangs = """
        @dataclass
        class Theirs(Workload):
            async def setup(self, worker: Worker) -> None:
                if worker.index:
                    stands_still()
            async def run(self, worker: Worker) -> None:
                await worker.stopped()

        def stands_still() -> None:
            time.sleep(3600)
        """
    (own.folder / "sitecustomize.py").write_text(IMPATIENT)
    done = own.finish(hangs, workers=2, model=model)
    assert (done.failure.phase, done.failure.worker) == ("setup", None)
    assert done.failure.error.startswith("TimeoutError: 1 of 2 workers sent nothing for 1.5")
    assert done.failure.error.endswith(" s: hung, or the loop is blocked")
    assert "in stands_still" in done.stderr
