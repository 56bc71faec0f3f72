"""Pure functions from records to summaries and verdicts.

`summarise` turns the record of a trial into one `Summary` for each job; `metrics` declares what is in it;
`compare` sets summaries against each other and against published results. Nothing here runs a trial or opens
a file.
"""
