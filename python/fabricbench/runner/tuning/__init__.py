"""The search for the values of plan fields that serve some plans best, over sizes and seeds."""
