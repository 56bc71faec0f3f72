"""Pure functions from records to summaries and verdicts.

`summarise` converts the record of a trial into one `Summary` per job; `metrics` declares its fields;
`compare` computes ratios between summaries and to published results. Nothing here runs trials or opens files.
"""
