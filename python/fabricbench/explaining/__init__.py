"""Explains a file of measured results: measured and expected bandwidths, and causes.

`files` assembles the explanation of a file, `expected` its expected curve (of a cluster, or of its plan at
the measured sizes), `choices` the differences between NCCL's logged and expected choices. `text` formats it
for the terminal and as JSON, `page` as HTML.
"""
