"""Pure functions that compute metrics, causes and comparisons from a trial's record (its result tables).

A trial is one run of a plan's variant. Folders: `record` reads the tables; `summary` computes the metrics of
each job; `links` and `faults` analyse the fabric; `causes` explains slow jobs; `comparison`, `twins`
(measurement against simulation) and `factorial` (effects of parameters) compare trials. Nothing here runs
trials or opens files.
"""
