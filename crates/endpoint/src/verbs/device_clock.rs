//! The clock of a device that stamps completions.

use super::Device;
use super::extended::{DeviceAttrEx, RAW_CLOCK, ValuesEx, query_device_ex, query_rt_values};
use std::io;
use std::mem::{self, size_of};
use std::ptr;
use std::sync::Arc;

/// Frequencies that clocks of devices may have [kHz]: what is outside is no frequency.
const KHZ: std::ops::RangeInclusive<u64> = 1_000..=10_000_000;
/// A clock that begins anew more often is of no use [ms].
const PERIOD_MIN_MS: u64 = 10_000;

/// The clock of a device: a counter that begins anew after all its bits are 1.
pub(crate) struct DeviceClock {
    device: Arc<Device>,
    /// Of its counter.
    pub(crate) bits: u32,
    /// Its frequency, as the device says [kHz].
    pub(crate) khz: u64,
}

impl DeviceClock {
    /// That of a device, if it stamps completions and its clock can be read.
    pub(crate) fn of(device: &Arc<Device>) -> Option<Self> {
        // SAFETY: all zero is a valid value of this plain structure of C.
        let mut told: DeviceAttrEx = unsafe { mem::zeroed() };
        // SAFETY: an open context, and room of that size for the answer.
        let number = unsafe {
            let query = query_device_ex(device.context())?;
            query(device.context(), ptr::null(), &raw mut told, size_of::<DeviceAttrEx>())
        };
        let (mask, khz) = (told.completion_timestamp_mask, told.hca_core_clock);
        let bits = u64::BITS - mask.leading_zeros();
        let is_usable =
            number == 0 && KHZ.contains(&khz) && mask.trailing_ones() == bits && mask / khz >= PERIOD_MIN_MS;
        let clock = is_usable.then(|| Self { device: Arc::clone(device), bits, khz })?;
        clock.ticks().is_ok().then_some(clock)
    }

    /// What it is now.
    pub(crate) fn ticks(&self) -> io::Result<u64> {
        // SAFETY: all zero is a valid value of this plain structure of C.
        let mut told: ValuesEx = unsafe { mem::zeroed() };
        told.comp_mask = RAW_CLOCK;
        let context = self.device.context();
        // SAFETY: an open context, and room for the answer.
        let number = unsafe {
            match query_rt_values(context) {
                Some(query) => query(context, &raw mut told),
                None => libc::EOPNOTSUPP,
            }
        };
        if number != 0 {
            return Err(io::Error::from_raw_os_error(number.abs()));
        }
        if told.comp_mask & RAW_CLOCK == 0 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        // Providers put the counter there as it is (mlx4, mlx5).
        Ok(told.raw_clock.tv_nsec as u64)
    }
}
