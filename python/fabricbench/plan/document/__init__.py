"""Reads a plan as written: finds its file, parses YAML with the line of every field, applies overrides.

`shipped` finds the file, `document` (with `nodes`) reads it, `overrides` changes fields, `validate` turns
errors of the models into problems. `published` reads the table of published results that a plan names.
"""
