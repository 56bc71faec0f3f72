"""Runs on real hosts: the agents that run them and the controller that coordinates the agents.

`proto/agent.proto` defines the protocol between the two. `agent/` runs on each host and has few imports, to
stay small; `control/` runs next to the plan. Both use the modules for addresses, certificates and the limits
of the protocol.
"""
