//! Limits that several fields have.

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
