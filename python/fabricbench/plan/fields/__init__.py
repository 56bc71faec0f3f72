"""The values that a plan's fields may have, and what all models of a plan share.

`base` has the models and the names that may stand for a value, `quantities` the values with units, `hosts`
the lists of hosts; `spec_fields` writes fields of a run spec in the words of a plan.
"""
