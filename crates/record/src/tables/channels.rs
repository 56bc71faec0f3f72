//! Table `channels`: data of each channel of NCCL, by server and adapter.

use crate::declare::table;

table! {
    /// Table `channels`: of jobs with NCCL, one row for each channel of a server and the adapter through which
    /// it sends, over all rounds.
    #[derive(PartialEq, Eq)]
    "channels" at Endpoint: ChannelRow {
        /// Name of the job.
        job: u32 as &str = |row, names| names.job(row.job);
        /// Algorithm of NCCL: `ring`, `tree`, `nvls`, `nvls-tree`, or `peers` for messages from rank to rank.
        algorithm: String;
        /// Protocol of NCCL: `LL`, `LL128` or `Simple`.
        protocol: &'static str as &str = |row| row.protocol;
        /// Channel, from 0; of messages from rank to rank the number among those of a peer.
        channel: u32;
        /// Server; as `src_host` of `chunks`.
        host: u32;
        /// GPU nearest to the adapters of the channel; null of messages from rank to rank and on one server.
        gpu: Option<u32>;
        /// Adapter through which the server sends, which is its rail; null for copies inside the server.
        send_nic: Option<u32>;
        /// Adapter through which it receives on this channel; null for copies and where that is any.
        receive_nic: Option<u32>;
        /// Payload of complete chunks to other servers, flags of LL and LL128 included.
        network_bytes: u64 ["bytes"];
        /// The same that GPUs of the server sent over its scale-up domain.
        scale_up_bytes: u64 ["bytes"];
        /// The first time that a byte of the row was sent; null if none was.
        start_ps: Option<u64> ["ps"];
        /// Completion of its last chunk; null if none completed.
        completed_ps: Option<u64> ["ps"];
    }
}
