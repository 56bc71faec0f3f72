"""Builds reports, each one HTML file that opens offline.

`run_page`, `measured_page`, `campaign_page` and `suite_page` build a page of the classes in `page_parts`;
`sections` has the sections of a run; `rendering` fills the template. `fabricbench.figures` draws the plots.
No metric is computed here: every quantity is from `analysis` or a column of a table.
"""
