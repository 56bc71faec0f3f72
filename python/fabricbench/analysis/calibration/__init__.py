"""Parameters of endpoints from point-to-point sweeps: message costs, latency, rate and window.

`timing` reads the times of a trial's chunks, `fits` computes parameters from them. Each parameter is fitted
to the sweep that isolates it, none to a collective.
"""
