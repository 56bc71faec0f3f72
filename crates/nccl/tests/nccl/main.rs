//! NCCL rules against its logs and against worked tables (`nccl_graphs.md`).

mod case;
mod communicators;
mod examples;
mod logged;
mod paths;
mod peers;
mod servers;
mod settings;
mod simulated;
mod tuner_choices;
mod tuner_times;
mod versions;
