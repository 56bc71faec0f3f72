"""Failures and their effects: recovery of jobs, remaining uplinks, lost frames, deadlocks."""
