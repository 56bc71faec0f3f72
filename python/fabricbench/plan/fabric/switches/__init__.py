"""Switches in a plan: buffer, scheduling, pools, PFC, ECN, colours, scheduled fabrics, and their checks."""
