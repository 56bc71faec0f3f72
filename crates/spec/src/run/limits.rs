//! Limits that several fields have.

/// Largest number of unacknowledged packets: half of the 24-bit PSN space.
pub(crate) const WINDOW_PACKETS_MAX: u32 = 1 << 23;
/// Windows of a rate control: a thousandth of a packet to the most that a queue pair has in flight [1/2^20
/// packets].
pub(super) const WINDOW_2E20_MIN: u64 = 1_049;
pub(super) const WINDOW_2E20_MAX: u64 = (WINDOW_PACKETS_MAX as u64) << 20;
/// Fastest rate, of links and of offered traffic [bit/s].
pub(super) const RATE_BPS_MAX: u64 = 100_000_000_000_000;
/// Longest time [ps]: 1,000 s.
pub(super) const DURATION_PS_MAX: u64 = 1_000_000_000_000_000;
/// The most that credits can grant: half of the range of a 12-bit count of blocks of 64 bytes. IBTA vol. 1,
/// 7.9.4.4.2.
pub(crate) const VL_BUFFER_BYTES_MAX: u32 = 2048 * 64;
/// Latest start of a host by its clock [ps]: 1 s.
pub(super) const CLOCK_OFFSET_PS_MAX: u64 = 1_000_000_000_000;
/// Largest drift of a clock: ten times what IEEE 802.3 allows, 100 ppm [parts per 10^9].
pub(super) const DRIFT_PPB_MAX: u32 = 1_000_000;
/// Longest response to a threshold or to a pause frame [ps]: 1 ms.
pub(super) const PAUSE_DELAY_PS_MAX: u64 = 1_000_000_000;

/// For fields that are left out when they are zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) const fn is_zero(number: &u64) -> bool {
    *number == 0
}
