//! Interoperability test program: an [`endpoint::Endpoint`] that communicates with other RoCE
//! implementations. `tests/interop` runs it together with a virtual machine with soft-RoCE of Linux.
//!
//! Reads a [`Task`] as JSON from stdin; writes the results of each case as a line of JSON to stdout.

mod bytes;
mod control;
mod messages;
mod perftest;
mod settings;

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Task of the program.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Task {
    /// Exchange messages with `tests/interop/peer.c` and compare every byte.
    Bytes(bytes::Task),
    /// Act as the other end of programs of perftest.
    Perftest(perftest::Task),
}

/// Prints the results of a case.
fn print(facts: &impl Serialize) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, facts)?;
    Ok(writeln!(out)?)
}

fn run() -> Result<(), Box<dyn Error>> {
    match serde_json::from_reader(io::stdin().lock())? {
        Task::Bytes(task) => task.run(),
        Task::Perftest(task) => task.run(),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interop: {error}");
            ExitCode::FAILURE
        }
    }
}
