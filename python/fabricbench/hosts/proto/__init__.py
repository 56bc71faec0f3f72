"""The protocol of agents: `agent.proto`, and the modules that the build generates from it."""
