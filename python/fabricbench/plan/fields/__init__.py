"""Types of the values of a plan's fields, and the base of all models of a plan.

`base` has the models and the short names of values, `quantities` the values with units, `sizes` the sizes of
a sweep, `hosts` the lists of hosts; `spec_fields` converts fields of a run spec to those of a plan.
"""
