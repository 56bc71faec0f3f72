"""The plan as written: its file, its YAML with the location of every field, and overrides for one run.

`shipped` finds the file, `document` (with `nodes`) reads it, `overrides` changes fields, `validate` turns
errors of the models into problems. `published` reads the table of published results that a plan names.
"""
