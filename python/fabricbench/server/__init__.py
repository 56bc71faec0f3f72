"""HTTP server of `fabricbench serve`: the workspace, a queue of runs, and the files of the web application.

`serve` starts the server and `app` assembles its application. `access` accepts clients and checks their
requests, `routes` has one module for each resource, `queue` takes runs from the queue of the store and starts
a process of `workers` for each; a sandboxed process of `workers` parses what clients send.

FastAPI and its server come with the extra `server`; nothing outside this package imports them.
"""
