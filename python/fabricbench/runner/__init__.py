"""Runs plans into a workspace.

`loading` loads a plan and checks its backend, `trials` runs its trials, `search` runs its search, and
`interrupts` handles Ctrl-C and SIGTERM. `side_by_side` runs trials concurrently in processes (`worker`,
`peer`, `messages`), as many as `places` allows. `suite`, `campaign`, `expecting`, `sweeps` (calibration) and
`tuning` run families of plans; `limits` has the limits of options.
"""
