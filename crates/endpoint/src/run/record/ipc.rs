//! Columns of the records of chunks by senders and receivers; encodes the records as Arrow IPC streams and
//! decodes them.

use super::{ReceivedHalf, SentHalf, SentStatus};
use crate::run::RunError;
use crate::run::driver::{ReceivedCounts, SentCounts};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use jobs::Jobs;
use std::sync::Arc;

/// Rows per batch.
const BATCH_ROWS: usize = 1 << 16;

/// A column: its name and how to read its value from a record; `None` is null.
type Column<T> = (&'static str, fn(&T) -> Option<i64>);

const SENT: &[Column<SentHalf>] = &[
    ("chunk", |half| Some(half.chunk.into())),
    ("pass", |half| Some(half.pass.into())),
    ("status", |half| Some(half.status as i64)),
    ("start_ps", |half| Some(half.start_ps)),
    ("completed_ps", |half| half.completed_ps),
    ("tx_frames", |half| Some(half.seen.frames as i64)),
    ("tx_bytes", |half| Some(half.seen.bytes as i64)),
    ("retransmits", |half| Some(half.seen.retransmits as i64)),
    ("timeouts", |half| Some(half.seen.timeouts as i64)),
    ("naks", |half| Some(half.seen.naks as i64)),
    ("cnp_rx", |half| Some(half.seen.cnps as i64)),
    ("messages", |half| Some(half.seen.messages as i64)),
];

const RECEIVED: &[Column<ReceivedHalf>] = &[
    ("chunk", |half| Some(half.chunk.into())),
    ("pass", |half| Some(half.pass.into())),
    ("delivered_ps", |half| half.delivered_ps),
    ("rx_frames", |half| Some(half.seen.frames as i64)),
    ("rx_bytes", |half| Some(half.seen.bytes as i64)),
    ("out_of_order", |half| Some(half.seen.out_of_order as i64)),
    ("ecn_ce_rx", |half| Some(half.seen.marks as i64)),
    ("cnp_tx", |half| Some(half.seen.cnps as i64)),
    ("verified", |half| half.seen.is_verified.map(i64::from)),
    ("messages", |half| Some(half.seen.messages as i64)),
];

/// Encodes the sender's records; column `job` has the job of each chunk.
pub(in crate::run) fn write_sent(halves: &[SentHalf], jobs: &Jobs) -> Result<Vec<u8>, RunError> {
    Ok(write(halves, SENT, |half| jobs.job_of(half.chunk))?)
}

/// Encodes the receiver's records.
pub(in crate::run) fn write_received(halves: &[ReceivedHalf], jobs: &Jobs) -> Result<Vec<u8>, RunError> {
    Ok(write(halves, RECEIVED, |half| jobs.job_of(half.chunk))?)
}

fn write<T>(halves: &[T], columns: &[Column<T>], job: impl Fn(&T) -> u32) -> Result<Vec<u8>, ArrowError> {
    let mut fields = vec![Field::new("job", DataType::Int64, false)];
    fields.extend(columns.iter().map(|(name, _)| Field::new(*name, DataType::Int64, true)));
    let schema = Arc::new(Schema::new(fields));
    let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
    for rows in halves.chunks(BATCH_ROWS) {
        let jobs = Int64Array::from_iter_values(rows.iter().map(|half| i64::from(job(half))));
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(jobs)];
        let array = |value: fn(&T) -> Option<i64>| rows.iter().map(value).collect::<Int64Array>();
        arrays.extend(columns.iter().map(|&(_, value)| Arc::new(array(value)) as ArrayRef));
        writer.write(&RecordBatch::try_new(Arc::clone(&schema), arrays)?)?;
    }
    writer.finish()?;
    writer.into_inner()
}

/// Decodes the sender's records.
pub(super) fn read_sent(stream: &[u8]) -> Result<Vec<SentHalf>, RunError> {
    read(stream, SENT, |row| {
        Ok(SentHalf {
            chunk: row.number("chunk")?,
            pass: row.number("pass")?,
            status: match row.number::<u8>("status")? {
                0 => SentStatus::Unfinished,
                1 => SentStatus::Complete,
                2 => SentStatus::Failed,
                other => return Err(RunError::Record(format!("status {other}; 0 to 2 are allowed"))),
            },
            start_ps: row.number("start_ps")?,
            completed_ps: row.value("completed_ps"),
            seen: SentCounts {
                messages: row.number("messages")?,
                frames: row.number("tx_frames")?,
                bytes: row.number("tx_bytes")?,
                retransmits: row.number("retransmits")?,
                timeouts: row.number("timeouts")?,
                naks: row.number("naks")?,
                cnps: row.number("cnp_rx")?,
            },
        })
    })
}

/// Decodes the receiver's records.
pub(super) fn read_received(stream: &[u8]) -> Result<Vec<ReceivedHalf>, RunError> {
    read(stream, RECEIVED, |row| {
        Ok(ReceivedHalf {
            chunk: row.number("chunk")?,
            pass: row.number("pass")?,
            delivered_ps: row.value("delivered_ps"),
            seen: ReceivedCounts {
                messages: row.number("messages")?,
                frames: row.number("rx_frames")?,
                bytes: row.number("rx_bytes")?,
                out_of_order: row.number("out_of_order")?,
                marks: row.number("ecn_ce_rx")?,
                cnps: row.number("cnp_tx")?,
                is_verified: row.value("verified").map(|value| value != 0),
            },
        })
    })
}

/// A row of a batch.
struct Row<'a> {
    columns: &'a [(&'static str, &'a Int64Array)],
    row: usize,
}

impl Row<'_> {
    fn value(&self, name: &str) -> Option<i64> {
        let (_, array) = self.columns.iter().find(|(each, _)| *each == name)?;
        array.is_valid(self.row).then(|| array.value(self.row))
    }

    fn number<T: TryFrom<i64>>(&self, name: &str) -> Result<T, RunError> {
        let value = self.value(name).and_then(|value| T::try_from(value).ok());
        value.ok_or_else(|| RunError::Record(format!("{name} of row {} is no such number", self.row)))
    }
}

fn read<T>(
    stream: &[u8],
    columns: &[Column<T>],
    half: impl Fn(&Row<'_>) -> Result<T, RunError>,
) -> Result<Vec<T>, RunError> {
    let mut halves = Vec::new();
    for batch in StreamReader::try_new(stream, None)? {
        let batch = batch?;
        let column = |&(name, _): &Column<T>| {
            let array = batch.column_by_name(name).and_then(|array| array.as_primitive_opt::<Int64Type>());
            let missing = || RunError::Record(format!("no column {name} of whole numbers"));
            Ok((name, array.ok_or_else(missing)?))
        };
        let columns = columns.iter().map(column).collect::<Result<Vec<_>, RunError>>()?;
        for row in 0..batch.num_rows() {
            halves.push(half(&Row { columns: &columns, row })?);
        }
    }
    Ok(halves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent() -> impl Strategy<Value = SentHalf> {
        let statuses = [SentStatus::Unfinished, SentStatus::Complete, SentStatus::Failed];
        let counts = proptest::array::uniform7(0..u64::MAX / 2);
        let numbers = (0..1000_u32, any::<u32>(), 0..3_usize, any::<i64>(), any::<Option<i64>>(), counts);
        numbers.prop_map(move |(chunk, pass, status, start_ps, completed_ps, counts)| {
            let [messages, frames, bytes, retransmits, timeouts, naks, cnps] = counts;
            let seen = SentCounts { messages, frames, bytes, retransmits, timeouts, naks, cnps };
            SentHalf { chunk, pass, status: statuses[status], start_ps, completed_ps, seen }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(halves in prop::collection::vec(sent(), 0..20)) {
            let stream = write(&halves, SENT, |_| 0).unwrap();
            prop_assert_eq!(read_sent(&stream).unwrap(), halves);
        }

        #[test]
        fn damaged_streams_are_refused_or_read(at in 0..600_usize, byte in any::<u8>()) {
            let seen = ReceivedCounts::default();
            let half = ReceivedHalf { chunk: 1, pass: 2, delivered_ps: Some(-3), seen };
            let mut stream = write(&[half], RECEIVED, |_| 0).unwrap();
            let index = at % stream.len();
            stream[index] = byte;
            let _ = read_received(&stream);
        }
    }
}
