"""Figures of trials, for reports, notebooks, Python and the web application.

Folders by data source: `results` of several trials, `chunks` of one, its `links`, `samples` over time. Each
module takes tables or summaries and returns a `Plot`, or None if there is nothing to draw.
"""
