"""Figures of trials, for reports, notebooks, Python and the web application.

A folder for what they are drawn of: `results` of several trials, `chunks` of one, its `links`, `samples`
over time. Each module takes tables or summaries and gives a `Plot`, or None when nothing is to be drawn.
"""
