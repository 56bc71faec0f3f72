"""The report: one HTML file that opens offline, in the order in which data passes its modules.

`build` reads a run from the store, `model` holds it, `fabricbench.figures` draws it, `page` puts the
drawings and tables into the template. Nothing here computes a metric: every quantity comes from `analysis`
or is a column of a table.
"""
