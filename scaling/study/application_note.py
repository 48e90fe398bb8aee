"""Inputs of runs of a user's application besides parameters: requests and variables."""

import os
from collections.abc import Mapping
from typing import Self

import msgspec


class SentRequests(msgspec.Struct, frozen=True, kw_only=True):
    """The number of requests that a study sends, and their digest."""

    count: int
    sha256: str


class ApplicationNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The requests and environment variables of an application, in the journal's first line.

    `requests` is None for `GET /` alone. `environment` has the names of the variables. Their values
    are not published: `environment_digest` only shows whether one has changed. The digest is made
    with a key that stays on the machine, so that nobody can guess values; `environment_key` names
    the key. Studies of version 1.0 have plain digests, without a key.
    """

    requests: SentRequests | None = None
    environment: tuple[str, ...] = ()
    environment_digest: str = ""
    environment_key: str = ""

    @classmethod
    def of(cls, requests: SentRequests | None, variables: Mapping[str, str]) -> Self:
        """The note of these requests and variables.

        Raises:
            ScalingError: the machine's key cannot be kept.
        """
        from scaling.machine.identity import keyed_digest, state_folder

        if not variables:
            return cls(requests=requests)
        text = "\0".join(f"{name}={value}" for name, value in sorted(variables.items()))
        digest, key = keyed_digest(text, state_folder(os.environ))
        return cls(
            requests=requests,
            environment=tuple(sorted(variables)),
            environment_digest=digest,
            environment_key=key,
        )
