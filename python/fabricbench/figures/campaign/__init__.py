"""Figures of a campaign: effects of its factors on a metric, and its settings compared.

A campaign runs plans over combinations of factor values (settings).
"""
