"""Likely causes of a slow job: each function searches the counters for one and describes its evidence.

A cause is reported only if counters show it. Its fraction of the lost time is given only if it follows from
them; `docs/diagnosis.md` has the rules and formulas.
"""
