"""The report: one HTML file that opens offline, built by these modules in order.

`build` reads a run from the store, `model` holds it, `fabricbench.figures` draws it, `page` renders the
drawings and tables with the template. No metric is computed here: every quantity is from `analysis` or a
column of a table.
"""
