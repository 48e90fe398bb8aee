"""`python -m scaling` is `scaling`. This file runs on an old Python, too, to say what is needed."""

import sys

if __name__ == "__main__":
    if sys.version_info < (3, 12):
        version = ".".join(map(str, sys.version_info[:3]))
        print(
            f"scaling: this is Python {version}, and scaling needs 3.12 or newer. "
            "Install one, for example with: uv python install 3.14",
            file=sys.stderr,
        )
        raise SystemExit(2)

    from scaling.cli import main

    main()
