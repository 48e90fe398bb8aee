"""What is worked out once for an object is kept as long as the object, and no longer."""

import gc
from weakref import ref

from scaling.base.once import once_for_each


class Study:
    """Any object."""


def test_it_is_done_once_for_each() -> None:
    asked: list[Study] = []

    @once_for_each
    def place(study: Study) -> int:
        asked.append(study)
        return len(asked)

    one, other = Study(), Study()
    assert [place(each) for each in (one, other, one, other)] == [1, 2, 1, 2]
    assert asked == [one, other]


def test_results_go_with_their_object() -> None:
    name = once_for_each(lambda study: f"{study}")
    study = Study()
    there = ref(study)
    assert name(study) == name(study)
    del study
    gc.collect()
    assert there() is None
