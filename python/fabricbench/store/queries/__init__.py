"""Queries over the catalog: lists of trials and runs, metrics of many trials, saved views and tags."""
