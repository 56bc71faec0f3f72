//! Converts rows to Arrow record batches: builders of columns by type; `Names` returns the name of a job or
//! of TCP traffic by its index.

use crate::column::Cell;
use crate::{Batch, Kind, Table};
use arrow_array::builder::{NullBufferBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

/// Initial capacity for each text [bytes]; texts of large tables are short.
const TEXT_BYTES: usize = 8;

/// Names to which rows refer by index.
#[derive(Clone, Debug)]
pub struct Names {
    /// Names of the jobs.
    pub jobs: Vec<String>,
    /// Names of the TCP traffic.
    pub tcp: Vec<String>,
}

impl Names {
    /// The name of a job.
    pub(crate) fn job(&self, index: u32) -> &str {
        &self.jobs[index as usize]
    }

    /// The name of TCP traffic.
    pub(crate) fn tcp(&self, index: u32) -> &str {
        &self.tcp[index as usize]
    }
}

impl Batch {
    /// The rows in the columns of their table.
    ///
    /// # Errors
    /// When the columns are not those that the table declares, which is a bug.
    pub fn to_arrow(&self, names: &Names) -> Result<RecordBatch, ArrowError> {
        let mut columns = Columns::new(self.table(), self.len());
        columns.append(self, 0..self.len(), names);
        columns.finish()
    }
}

/// Rows of one table that become one record batch.
#[derive(Debug)]
pub struct Columns {
    schema: Arc<Schema>,
    columns: Vec<Values>,
    rows: usize,
}

impl Columns {
    /// The columns of a table, with capacity for this number of rows.
    #[must_use]
    pub fn new(table: Table, capacity: usize) -> Self {
        let fields = table.columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Integer => DataType::Int64,
                Kind::Float => DataType::Float64,
                Kind::Text => DataType::Utf8,
            };
            Field::new(column.name, kind, column.is_nullable)
        });
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            columns: table.columns.iter().map(|column| Values::new(column.kind, capacity)).collect(),
            rows: 0,
        }
    }

    /// Number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Appends rows of a batch of the table.
    pub fn append(&mut self, batch: &Batch, rows: Range<usize>, names: &Names) {
        self.rows += rows.len();
        batch.append_to(&mut self.columns, rows, names);
    }

    /// The rows so far.
    ///
    /// # Errors
    /// When the columns are not those that the table declares, which is a bug.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(self.schema, self.columns.into_iter().map(Values::finish).collect())
    }
}

/// The values of a column so far.
#[derive(Debug)]
pub(crate) enum Values {
    /// Integers, and their validity (not null).
    Integers(Vec<i64>, NullBufferBuilder),
    /// Numbers, and their validity.
    Floats(Vec<f64>, NullBufferBuilder),
    /// Texts.
    Texts(StringBuilder),
}

impl Values {
    fn new(kind: Kind, capacity: usize) -> Self {
        match kind {
            Kind::Integer => Self::Integers(Vec::with_capacity(capacity), NullBufferBuilder::new(capacity)),
            Kind::Float => Self::Floats(Vec::with_capacity(capacity), NullBufferBuilder::new(capacity)),
            Kind::Text => Self::Texts(StringBuilder::with_capacity(capacity, TEXT_BYTES * capacity)),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Integers(values, nulls) => Arc::new(Int64Array::new(values.into(), nulls.build())),
            Self::Floats(values, nulls) => Arc::new(Float64Array::new(values.into(), nulls.build())),
            Self::Texts(mut texts) => Arc::new(texts.finish()),
        }
    }
}

/// Rows of a table.
pub(crate) trait Rows: Sized {
    /// Appends rows to the columns, which are in the order of the table.
    fn append(rows: &[Self], columns: &mut [Values], names: &Names);
}

/// A type whose values make a column.
pub(crate) trait Cells: Cell {
    /// Appends values to a column of the type.
    fn append(values: impl Iterator<Item = impl Borrow<Self>>, column: &mut Values);
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(
            impl Cells for $type {
                fn append(values: impl Iterator<Item = impl Borrow<Self>>, column: &mut Values) {
                    let Values::Integers(integers, nulls) = column else { not_of_the_kind() };
                    integers.extend(values.map(|value| *value.borrow() as i64));
                    nulls.append_n_non_nulls(integers.len() - nulls.len());
                }
            }

            impl Cells for Option<$type> {
                fn append(values: impl Iterator<Item = impl Borrow<Self>>, column: &mut Values) {
                    let Values::Integers(integers, nulls) = column else { not_of_the_kind() };
                    integers.extend(values.map(|value| {
                        nulls.append(value.borrow().is_some());
                        value.borrow().map_or(0, |number| number as i64)
                    }));
                }
            }
        )+
    };
}

macro_rules! texts {
    ($($type:ty),+) => {
        $(
            impl Cells for $type {
                fn append(values: impl Iterator<Item = impl Borrow<Self>>, column: &mut Values) {
                    let Values::Texts(texts) = column else { not_of_the_kind() };
                    values.for_each(|value| texts.append_value(value.borrow()));
                }
            }
        )+
    };
}

integers! { bool, u16, u32, u64, i64 }
texts! { &str, String, Arc<str> }

impl Cells for Option<&str> {
    fn append(values: impl Iterator<Item = impl Borrow<Self>>, column: &mut Values) {
        let Values::Texts(texts) = column else { not_of_the_kind() };
        values.for_each(|value| texts.append_option(*value.borrow()));
    }
}

impl Cells for Option<f64> {
    fn append(values: impl Iterator<Item = impl Borrow<Self>>, column: &mut Values) {
        let Values::Floats(floats, nulls) = column else { not_of_the_kind() };
        floats.extend(values.map(|value| {
            nulls.append(value.borrow().is_some());
            value.borrow().unwrap_or_default()
        }));
    }
}

#[cold]
fn not_of_the_kind() -> ! {
    panic!("a column has values of another kind than its table declares")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReorderingRow;

    #[test]
    fn rows_appended_in_parts_make_the_batch_of_all_rows() {
        let names = Names { jobs: vec!["one".into(), "two".into()], tcp: Vec::new() };
        let rows = (0..5u32).map(|index| ReorderingRow {
            job: index % 2,
            qp: (index > 1).then_some(index),
            distance_min: 1,
            distance_max: 1,
            frames: u64::from(index),
        });
        let all = Batch::Reordering(rows.collect());
        let mut columns = Columns::new(all.table(), 1);
        columns.append(&all, 0..2, &names);
        columns.append(&all, 2..5, &names);
        assert_eq!(columns.rows(), 5);
        let joined = columns.finish().expect("the columns are those of the table");
        assert_eq!(joined, all.to_arrow(&names).expect("the columns are those of the table"));
        assert_eq!(joined.column_by_name("qp").map(|column| column.null_count()), Some(2));
    }
}
