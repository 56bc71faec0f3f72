"""Failures and their effect: recovery of jobs, uplinks left, losses, deadlocks, failures after the end."""
