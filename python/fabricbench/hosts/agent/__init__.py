"""The agent of a host: carries out its part of one run at a time, for the controller that prepared it."""
