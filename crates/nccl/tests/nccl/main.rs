//! NCCL rules against public logs and worked tables.

mod case;
mod clusters;
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
