//! Checks each number of a spec against the range that its field declares in the JSON schema.

use crate::{RunSpec, SpecError};
use schemars::Schema;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The schema of a spec, which stays in memory: without the parts that no range depends on.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = crate::run_spec_schema();
    RecursiveTransform(keep_ranges).transform(&mut schema);
    schema.to_value()
});

/// Removes the parts of a schema that no range depends on.
fn keep_ranges(schema: &mut Schema) {
    for name in ["title", "description", "required", "additionalProperties"] {
        schema.remove(name);
    }
    if schema.get("type").is_some_and(|of| of != "null") {
        schema.remove("type");
    }
    if schema.get("format").is_some_and(|format| format != "uint32") {
        schema.remove("format");
    }
    if schema.get("minimum").is_some_and(|least| *least == 0) {
        schema.remove("minimum");
    }
    // A map that was emptied keeps its memory.
    if schema.as_object().is_some_and(Map::is_empty) {
        *schema = Schema::default();
    }
}

/// Errors of the numbers of a spec that are out of range.
pub(crate) fn out_of_range(spec: &RunSpec) -> Vec<SpecError> {
    serde_json::to_value(spec).map_or_else(|_| Vec::new(), |json| out_of_range_in(&json))
}

/// Errors of the numbers of an unchecked spec that are out of range or do not fit their types.
pub(crate) fn out_of_range_in(json: &Value) -> Vec<SpecError> {
    let mut errors = Vec::new();
    walk(&SCHEMA, json, &mut errors);
    errors
}

/// Adds the errors of a value, with paths relative to it.
fn walk(schema: &'static Value, json: &Value, errors: &mut Vec<SpecError>) {
    let schema = resolved(schema);
    for forms in ["oneOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()) {
        if let Some(form) = forms.iter().find(|form| is_form_of(resolved(form), json)) {
            walk(form, json, errors);
        }
    }
    let mut inside = |schema, json, name: &dyn Fn() -> String| {
        let before = errors.len();
        walk(schema, json, errors);
        errors[before..].iter_mut().for_each(|error| error.lead_by(&name()));
    };
    match json {
        Value::Object(fields) => {
            fields
                .iter()
                .for_each(|(name, field)| inside(&schema["properties"][name], field, &|| name.clone()));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, item)| inside(&schema["items"], item, &|| format!("[{index}]")));
        }
        Value::Number(number) => {
            errors.extend(number.as_u64().and_then(|number| range_error(schema, number)));
        }
        _ => {}
    }
}

/// Follows a reference in the schema.
fn resolved(schema: &'static Value) -> &'static Value {
    schema["$ref"].as_str().and_then(|path| SCHEMA.pointer(path.trim_start_matches('#'))).unwrap_or(schema)
}

/// Whether JSON matches a form: the forms of a field differ in their `kind`, or one is null.
fn is_form_of(form: &Value, json: &Value) -> bool {
    let kind = &form["properties"]["kind"]["const"];
    (form["type"] == "null") == json.is_null() && (kind.is_null() || *kind == json["kind"])
}

fn range_error(schema: &Value, number: u64) -> Option<SpecError> {
    if let Some(choices) = schema["enum"].as_array() {
        let allowed = choices.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        let is_one = choices.iter().any(|choice| choice.as_u64() == Some(number));
        return (!is_one).then(|| SpecError::Value {
            field: String::new(),
            found: number.to_string(),
            allowed,
        });
    }
    let of_type = if schema["format"] == "uint32" { u32::MAX.into() } else { u64::MAX };
    let least = schema["minimum"].as_u64().unwrap_or(0);
    let most = schema["maximum"].as_u64().unwrap_or(of_type);
    let is_within = (least..=most).contains(&number);
    (!is_within).then(|| SpecError::Range {
        field: String::new(),
        found: number,
        least,
        most,
        limited_by: None,
    })
}

#[cfg(test)]
mod tests {
    use super::out_of_range_in;
    use serde_json::json;

    fn errors(json: &serde_json::Value) -> Vec<String> {
        out_of_range_in(json).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn numbers_are_found_in_lists_variants_and_what_may_be_absent() {
        let rate_control = json!({"kind": "swift", "beta_ppm": 5_000_000_000_u64, "reset_timeouts": 0});
        let scheduling = json!({"kind": "dwrr", "quantum_bytes": [1, 0]});
        let json = json!({
            "fabric": {"topology": {"kind": "leaf-spine", "spines": 0}, "switch": {"scheduling": scheduling, "ecn": {"dynamic": {"interval_ps": 1}}, "pfc": null}},
            "transport": {"mtu_bytes": 1_000, "retry_count": 65_536, "rate_control": rate_control},
            "jobs": [{"work": {"kind": "open-loop", "rate_bps": 0}}, {"work": {"kind": "storage", "depth": 0}}],
        });
        let expected = [
            "fabric.switch.ecn.dynamic.interval_ps: 1; allowed: 1000000 to 1000000000000",
            "fabric.switch.scheduling.quantum_bytes[1]: 0; allowed: 1 to 1073741824",
            "fabric.topology.spines: 0; allowed: 1 to 4294967295",
            "jobs[0].work.rate_bps: 0; allowed: 1 to 100000000000000",
            "jobs[1].work.depth: 0; allowed: 1 to 65535",
            "transport.mtu_bytes: 1000; allowed: 256, 512, 1024, 2048, 4096",
            "transport.rate_control.beta_ppm: 5000000000; allowed: 0 to 1000000",
            "transport.retry_count: 65536; allowed: 0 to 65535",
        ];
        assert_eq!(errors(&json), expected);
    }

    #[test]
    fn a_number_of_no_range_has_to_fit_its_type() {
        let found =
            errors(&json!({"transport": {"rate_control": {"kind": "swift", "reset_timeouts": 1_u64 << 32}}}));
        assert_eq!(found, ["transport.rate_control.reset_timeouts: 4294967296; allowed: 0 to 4294967295"]);
    }
}
