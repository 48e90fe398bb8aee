"""The project's tests, each file named after the promise that it keeps."""
