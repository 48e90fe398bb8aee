"""An application with a large catalogue in memory, made when it is imported."""
