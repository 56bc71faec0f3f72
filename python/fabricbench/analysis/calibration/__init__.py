"""What point-to-point sweeps tell of endpoints: message costs, latency, rate and window.

`timing` reads the times of a trial's chunks, `fits` makes parameters of them. Each parameter comes from the
sweep that isolates it; none is fitted to a collective.
"""
