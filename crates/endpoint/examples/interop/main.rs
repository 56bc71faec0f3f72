//! An [`endpoint::Endpoint`] that speaks with peers of other origin: `tests/interop` runs it beside a virtual
//! machine with the soft-RoCE of Linux.
//!
//! What it is to do comes as JSON on stdin, [`Task`]; what came of it leaves as a line of JSON for each case.

mod bytes;
mod control;
mod messages;
mod perftest;
mod settings;

use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// What is to be done.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Task {
    /// Exchange messages with `tests/interop/peer.c` and compare every byte.
    Bytes(bytes::Task),
    /// Be the other end of programs of perftest.
    Perftest(perftest::Task),
}

/// Says what came of a case.
fn tell(facts: &impl Serialize) -> Result<(), Box<dyn Error>> {
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
