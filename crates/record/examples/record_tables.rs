//! Prints the record tables as JSON; `tools/generate_mirrors.py` makes the Python mirror from it.

use fabricbench_record::{Column, TABLES};
use serde_json::{Value, json};
use std::io::{self, Write};

fn main() -> io::Result<()> {
    let tables: Vec<Value> = TABLES
        .iter()
        .map(|table| json!({ "name": table.name, "columns": table.columns.iter().map(column).collect::<Vec<_>>() }))
        .collect();
    writeln!(io::stdout(), "{:#}", Value::Array(tables))
}

fn column(column: &Column) -> Value {
    json!({
        "name": column.name,
        "type": column.kind.name(),
        "is_nullable": column.is_nullable,
        "unit": column.unit,
        "meaning": column.meaning,
    })
}
