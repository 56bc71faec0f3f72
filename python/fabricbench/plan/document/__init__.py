"""The plan as it is written: its file, its YAML with the place of every field, and changes to it for one run.

`shipped` finds the file, `document` (with `nodes`) reads it, `overrides` changes fields, `validate` words
what the models refuse. `published` reads the table of published results that a plan names.
"""
