"""The agent of a host: executes the host's part of one run at a time for the controller that prepared it."""
