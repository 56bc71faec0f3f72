"""Runs on real hosts: agents that carry them out, and the controller that leads them.

`proto/agent.proto` is what they say to each other. `agent/` runs on each host and imports little, so that it
stays small; `control/` runs where the plan is. Both share addresses, certificates and the bounds of the
protocol.
"""
