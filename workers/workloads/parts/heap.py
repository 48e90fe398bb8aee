"""Live objects: what a collector has to go through although it can free none of them."""


def live_objects(count: int) -> list[list[int]]:
    """Make `count` objects that the collector tracks and that live as long as the list."""
    return [[each] for each in range(count)]


def share(total: int, worker: int, workers: int) -> int:
    """A worker's even share; the first workers get the remainder."""
    each, rest = divmod(total, workers)
    return each + (worker < rest)
