"""Runs plans into a workspace.

`loading` loads a plan and checks its backend, `trials` runs it, `interrupts` handles Ctrl-C and SIGTERM.
"""
