"""HTTP server of `fabricbench serve`: the workspace, a queue of runs, and the files of the web application.

`connections` accepts clients and disconnects slow ones. `app` assembles the application: `auth`, with the
`logins` of browsers, and `limits` check every request, `errors` formats errors, and one module for each
resource (`plans`, `trials`, `tables`, `figures`, `compare`, `runs`) has its routes. `scheduler` takes runs
from the queue of the store and starts a `worker` process for each; `events` stores the events of runs. Plan
text is parsed by `sandbox` in a process of its own. `serve` starts all of it.

FastAPI and its server come with the extra `server`; nothing outside this package imports them.
"""
