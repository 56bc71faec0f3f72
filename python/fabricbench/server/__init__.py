"""The server: the workspace over HTTP, runs in a queue, and the files of the web application.

`connections` accepts clients and parts from those that keep it waiting. `app` puts the rest together: `auth`,
with the `logins` of browsers, and `limits` stand before every request, `errors` words what goes wrong, one
module for each kind of thing (`plans`, `trials`, `tables`, `figures`, `compare`, `runs`) answers. `scheduler`
takes runs from the queue of the store and starts a `worker` process for each; `events` keeps what they tell.
Plan text is parsed by `sandbox` in a process of its own. `serve` runs all of it for `fabricbench serve`.

FastAPI and its server come with the extra `server`; nothing outside this package imports them.
"""
