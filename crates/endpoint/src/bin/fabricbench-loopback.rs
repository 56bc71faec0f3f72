//! Command-line loopback test: reads a JSON description of transfers from stdin, runs them between two UDP
//! sockets of this host and writes the results as JSON to stdout. See [`endpoint::loopback`].
//!
//! Exit status: 0 if every byte of every transfer arrived, 1 if not, 2 if the description cannot be run.

use endpoint::loopback::{Description, Facts, run};
use std::io::{Write, stderr, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run_stdin() {
        Ok(facts) => {
            let is_equal = facts.transfers.iter().all(|transfer| transfer.is_equal);
            if is_equal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            // If stderr fails too, nothing more can be reported.
            let _ = writeln!(stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run_stdin() -> Result<Facts, Box<dyn std::error::Error>> {
    let description: Description = serde_json::from_reader(stdin().lock())?;
    let facts = run(&description)?;
    serde_json::to_writer_pretty(stdout().lock(), &facts)?;
    writeln!(stdout())?;
    Ok(facts)
}
