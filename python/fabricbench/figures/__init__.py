"""Draws figures of trials, for reports, notebooks, Python and the web application.

Folders by data source: `results` of several trials, `campaign`; and of one trial its `chunks` (transfers
between ranks), `links`, and `samples` over time. Each module takes tables or summaries and returns a `Plot`,
or None if there is nothing to draw.
"""
