"""Diagnosis of slow jobs: searches their counters for likely causes, with evidence, and proposes remedies.

A cause is reported only if counters show it. Its fraction of the lost time (of the job beyond its ideal time)
is given only if it follows from them; `docs/diagnosis.md` has the rules and formulas.
"""
