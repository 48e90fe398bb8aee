"""Is an application safe on N loops? What it answered at N = 1 against N > 1, and what broke."""
