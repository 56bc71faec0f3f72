"""Rules that name causes of low bandwidth in a measurement, by kind of cause; `ranking` orders the causes.

`runs`: whether the network was measured; `libraries`: choices of NCCL and MPI; `adapters`: number and rate;
`hosts`: the path between memory and adapter, and MTU; `host_pairs`: tests of a pair of hosts; `settings`:
runs that differ; `curves`: sizes and repetitions; `shared_adapters`: adapters that ranks of MPI share;
`host_counters` and `switch_counters`: counters; `ras_reports`: reports of NCCL's RAS; `expected`: whether
anything is missing; `evidence`: functions that several of them use.
"""
