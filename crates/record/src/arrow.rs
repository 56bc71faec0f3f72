//! Rows as Arrow record batches.

use crate::column::Cell;
use crate::{Batch, Kind};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::borrow::Borrow;
use std::sync::Arc;

/// The names that rows give by their index.
#[derive(Clone, Debug)]
pub struct Names {
    /// Of the jobs.
    pub jobs: Vec<String>,
    /// Of the TCP traffic.
    pub tcp: Vec<String>,
}

impl Names {
    /// The name of a job.
    pub(crate) fn job(&self, index: u32) -> &str {
        &self.jobs[index as usize]
    }

    /// The name of a piece of TCP traffic.
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
        let fields = self.table().columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Integer => DataType::Int64,
                Kind::Float => DataType::Float64,
                Kind::Text => DataType::Utf8,
            };
            Field::new(column.name, kind, column.is_nullable)
        });
        RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), self.arrays(names))
    }
}

/// Rows of a table.
pub(crate) trait Rows: Sized {
    /// The columns of the rows, in the order of the table.
    fn arrays(rows: &[Self], names: &Names) -> Vec<ArrayRef>;
}

/// A type whose values make an array.
pub(crate) trait Cells: Cell {
    /// The array of the values.
    fn array(values: impl Iterator<Item = impl Borrow<Self>>) -> ArrayRef;
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(
            impl Cells for $type {
                fn array(values: impl Iterator<Item = impl Borrow<Self>>) -> ArrayRef {
                    Arc::new(Int64Array::from_iter_values(values.map(|value| *value.borrow() as i64)))
                }
            }

            impl Cells for Option<$type> {
                fn array(values: impl Iterator<Item = impl Borrow<Self>>) -> ArrayRef {
                    let numbers = values.map(|value| value.borrow().map(|number| number as i64));
                    Arc::new(numbers.collect::<Int64Array>())
                }
            }
        )+
    };
}

macro_rules! texts {
    ($($type:ty),+) => {
        $(
            impl Cells for $type {
                fn array(values: impl Iterator<Item = impl Borrow<Self>>) -> ArrayRef {
                    let mut texts = StringBuilder::new();
                    values.for_each(|value| texts.append_value(value.borrow()));
                    Arc::new(texts.finish())
                }
            }
        )+
    };
}

integers! { bool, u16, u32, u64, i64 }
texts! { &str, String, Arc<str> }

impl Cells for Option<&str> {
    fn array(values: impl Iterator<Item = impl Borrow<Self>>) -> ArrayRef {
        let mut texts = StringBuilder::new();
        values.for_each(|value| texts.append_option(*value.borrow()));
        Arc::new(texts.finish())
    }
}

impl Cells for Option<f64> {
    fn array(values: impl Iterator<Item = impl Borrow<Self>>) -> ArrayRef {
        Arc::new(values.map(|value| *value.borrow()).collect::<Float64Array>())
    }
}
