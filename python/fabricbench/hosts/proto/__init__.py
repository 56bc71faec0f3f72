"""The protocol of agents: `agent.proto`, and the modules that tools/generate_protocol.py makes of it."""
