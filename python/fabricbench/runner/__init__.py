"""Runs plans into a workspace.

`loading` loads a plan whose backend is there, `trials` runs it trial by trial, `interrupts` ends that early.
"""
