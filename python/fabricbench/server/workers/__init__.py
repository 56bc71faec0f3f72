"""Code of the processes that the server starts: a worker for each run, sandboxed tasks on client input."""
