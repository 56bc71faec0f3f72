//! Metadata of tables and columns: name, type, unit, meaning; trait `Cell` maps Rust types to column types.

use std::sync::Arc;

/// A record table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Where a simulation observes its rows.
    pub point: Point,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

/// Where rows are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// By senders and receivers.
    Endpoint,
    /// On links and in switches themselves.
    Fabric,
    /// By the counter of a device; a simulation has none.
    Device,
}

impl Point {
    /// Its name in Python.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Fabric => "fabric",
            Self::Device => "device",
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name, which ends with the unit.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// It is null where nothing was measured.
    pub is_nullable: bool,
    /// The unit of its values, such as `ps`; `None` for texts and numbers without unit.
    pub unit: Option<&'static str>,
    /// The comment of its declaration.
    pub meaning: &'static str,
}

/// Type of the values of a column. Integers are signed 64-bit: readers of Parquet and CSV agree about those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer; 0 or 1 for a truth value.
    Integer,
    /// A 64-bit floating-point number.
    Float,
    /// A text in UTF-8.
    Text,
}

impl Kind {
    /// The name of its type in Arrow.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "int64",
            Self::Float => "float64",
            Self::Text => "string",
        }
    }
}

/// A type whose values make a column.
pub(crate) trait Cell {
    /// Type of the column.
    const KIND: Kind;
    /// It may be null.
    const IS_NULLABLE: bool = false;
}

/// Implements [`Cell`] for types whose values make columns of a kind, with and without null.
macro_rules! cells {
    ($kind:ident: $($type:ty),+) => {
        $(
            impl Cell for $type {
                const KIND: Kind = Kind::$kind;
            }

            impl Cell for Option<$type> {
                const KIND: Kind = Kind::$kind;
                const IS_NULLABLE: bool = true;
            }
        )+
    };
}

cells! { Integer: bool, u16, u32, u64, i64 }
cells! { Float: f64 }
cells! { Text: &str, String, Arc<str> }
