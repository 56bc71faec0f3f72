"""Settings that change between trials: sizes, swept fields and variants.

`model` is the sweep, `sizes` its sizes, `fields` the checks of swept fields, `cases` their combinations and
`check` the checks of sizes. `variants` has the variants, `labels` their names, `search_range` the range of a
search and `field_scales` its units, and `resolve` creates a document for each variant and combination.
"""
