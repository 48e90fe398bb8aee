"""Of a run that hung, what is said is the line of the user's code that it hangs in."""

import faulthandler
import tempfile
import threading
from pathlib import Path

from scaling.analysis.safety.causes import stuck

APPLICATION = "import threading\ndef wait(event, ready):\n    ready.set()\n    event.wait()\n"


def test_it_is_the_innermost_line_of_the_thread_that_is_not_ours() -> None:
    event, ready = threading.Event(), threading.Event()
    code: dict[str, object] = {}
    exec(compile(APPLICATION, "shop.py", "exec"), code)
    hangs = threading.Thread(target=code["wait"], args=(event, ready))  # type: ignore[arg-type]
    hangs.start()
    ready.wait()
    with tempfile.TemporaryFile("w+") as out:
        faulthandler.dump_traceback(out, all_threads=True)
        out.seek(0)
        text = out.read()
    event.set()
    hangs.join()
    # Our own files lie in folders here; a record has them without.
    assert stuck(text.replace(f"{Path(__file__).parent}/", "tests/")) == " (shop.py, line 4)"


def test_host_and_worker_that_wait_for_each_other_are_left_out() -> None:
    ours = 'Thread 0x01 (most recent call first):\n  File "channel.py", line 155 in receive\n'
    theirs = 'Current thread 0x02 (most recent call first):\n  File "shop.py", line 7 in app\n'
    assert stuck(ours + theirs) == " (shop.py, line 7)"
    assert stuck(ours) == ""
    assert stuck("no stacks at all") == ""
