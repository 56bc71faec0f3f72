//! Prints the JSON Schema of the run spec; `tools/generate_mirrors.py` makes the Python mirror from it.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let schema = serde_json::to_string_pretty(&fabricbench_spec::run_spec_schema())?;
    writeln!(io::stdout(), "{schema}")
}
