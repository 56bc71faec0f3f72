//! NCCL's rules against its logs and against worked tables (`nccl_graphs.md`).

mod case;
mod logged;
mod servers;
mod settings;
mod simulated;
