"""Parsers of other benchmarks than nccl-tests: IMB, OSU, nccom-test, perftest; and tools without a parser."""
