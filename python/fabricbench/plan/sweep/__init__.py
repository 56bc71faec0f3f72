"""What changes from trial to trial: sizes and variants.

`model` is the sweep, `sizes` what it asks for and `check` what is wrong with that. `variants` is what is
compared, `labels` names it, and `resolve` makes a document of each variant.
"""
