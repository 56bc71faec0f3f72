"""Likely causes of a slow job: each function looks for one in the counters and says what it found.

A cause is named only where counters show it. Its share of the lost time is given only where it follows from
them; `docs/diagnosis.md` has the rules and formulas.
"""
