"""Figures of chunks and of their frames' latency and order.

A chunk is the part of a collective's data that one rank sends to another in one transfer.
"""
