"""Code of the processes that the server starts: a worker for each run, and sandboxed tasks."""
