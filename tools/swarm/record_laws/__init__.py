"""Laws (invariants) that the record of every run must obey, by subject; `registry` lists them all."""
