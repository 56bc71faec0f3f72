"""Searches for the values of plan fields that give the best results, over sizes and seeds."""
