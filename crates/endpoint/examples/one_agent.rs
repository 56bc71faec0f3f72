//! Program for profiling: acts as all hosts of a run spec (parameters of one run, as JSON) in one process,
//! with driver `roce`, `tcp` or `verbs`, without a controller.
//!
//! `one_agent SPEC.json DRIVER ADDRESS` prints the counters of the endpoint.

use endpoint::monotonic_ns;
use endpoint::run::{HostRun, Settings, State};
use spec::RunSpec;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, spec, driver, address] = &arguments[..] else {
        return Err("usage: one_agent SPEC.json DRIVER ADDRESS".into());
    };
    let spec: RunSpec = serde_json::from_str(&std::fs::read_to_string(spec)?)?;
    let settings = format!(r#"{{"address": "{address}", "allowed_peers": ["{address}/32"]}}"#);
    let hosts: Vec<u32> = (0..spec.fabric.topology.hosts() as u32).collect();
    let run = HostRun::new(spec, &hosts, driver, Settings::from_json(&settings)?)?;
    let own = run.addresses()?;
    run.connect(&hosts.iter().map(|&host| (host, own.clone())).collect::<BTreeMap<_, _>>())?;
    run.start(monotonic_ns())?;
    while !run.wait(Duration::from_millis(100)) {
        run.keep_alive();
    }
    let (progress, _) = (run.progress(), run.sent()?);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{:?} after {} us {}", progress.state, progress.elapsed.0 / 1_000_000, progress.reason)?;
    for (name, value) in run.counters() {
        writeln!(output, "{name} {value}")?;
    }
    if progress.state == State::Failed { Err("failed".into()) } else { Ok(()) }
}
