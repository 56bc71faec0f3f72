"""Runs plans and stores their trials in a workspace.

`loading` loads a plan and checks its backend, `trials` runs its trials, `search` runs its search, and
`interrupts` handles Ctrl-C and SIGTERM. `parallel` runs trials concurrently in processes (`worker`,
`messages`), as many as `concurrency` allows. `trial_facts` has the identity of trials, `listener` receives
their events. `suite`, `campaign`, `expect_trials`, `calibration_sweeps` and `tuning` run families of plans;
`unrecorded_trials` runs trials for their times only, `lifted_bounds` with each bound lifted, `cluster_trials`
those of `expect --cluster`; `limits` has the limits of options.
"""
