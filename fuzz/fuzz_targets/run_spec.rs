//! The JSON of a run spec, which is all that the core is told: reading it is total, and what is accepted is
//! written as text that is accepted as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spec::from_json;

fuzz_target!(|text: &str| {
    let Ok(accepted) = from_json(text) else { return };
    let written = serde_json::to_string(&accepted).expect("a run spec is JSON");
    assert_eq!(from_json(&written), Ok(accepted), "from_json(to_string(spec)) is not spec");
});
