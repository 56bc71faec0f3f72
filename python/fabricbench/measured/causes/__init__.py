"""Rules that name causes of a measurement, by kind of cause; `causes.ranking` orders them.

`runs`: whether the network was measured; `libraries`: choices of NCCL and MPI; `adapters`: number and rate;
`hosts`: the path between memory and adapter, and MTU; `pairs`: tests of a pair of hosts; `settings`: runs
that differ; `curves`: sizes and repetitions; `shared`: adapters that ranks of MPI share; `expected`: whether
anything is missing; `evidence`: functions that several of them use.
"""
