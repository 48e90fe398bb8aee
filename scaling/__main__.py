"""`python -m scaling` is `scaling`."""

from scaling.cli import main

if __name__ == "__main__":
    main()
