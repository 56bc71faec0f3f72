//! Reads the clock of an RDMA device, the free-running counter that it uses for completion timestamps.

use super::Device;
use super::extended::{DeviceAttrEx, RAW_CLOCK, ValuesEx, query_device_ex, query_rt_values};
use std::io;
use std::mem::{self, size_of};
use std::ptr;
use std::sync::Arc;

/// Plausible clock frequencies of devices [kHz].
const KHZ: std::ops::RangeInclusive<u64> = 1_000..=10_000_000;
/// Minimum period before the counter wraps around [ms].
const PERIOD_MIN_MS: u64 = 10_000;

/// Free-running counter of a device, which wraps around after `bits` bits.
pub(crate) struct DeviceClock {
    device: Arc<Device>,
    /// Width of the counter.
    pub(crate) bits: u32,
    /// Nominal frequency, as reported by the device [kHz].
    pub(crate) khz: u64,
}

impl DeviceClock {
    /// The clock of a device, if it has completion timestamps and a readable clock.
    pub(crate) fn of(device: &Arc<Device>) -> Option<Self> {
        // SAFETY: all zeros is a valid value of this plain C structure.
        let mut attributes: DeviceAttrEx = unsafe { mem::zeroed() };
        // SAFETY: an open context, and room of that size for the result.
        let number = unsafe {
            let query = query_device_ex(device.context())?;
            query(device.context(), ptr::null(), &raw mut attributes, size_of::<DeviceAttrEx>())
        };
        let (mask, khz) = (attributes.completion_timestamp_mask, attributes.hca_core_clock);
        let bits = u64::BITS - mask.leading_zeros();
        let is_usable =
            number == 0 && KHZ.contains(&khz) && mask.trailing_ones() == bits && mask / khz >= PERIOD_MIN_MS;
        let clock = is_usable.then(|| Self { device: Arc::clone(device), bits, khz })?;
        clock.ticks().is_ok().then_some(clock)
    }

    /// Current value of the counter.
    pub(crate) fn ticks(&self) -> io::Result<u64> {
        // SAFETY: all zeros is a valid value of this plain C structure.
        let mut values: ValuesEx = unsafe { mem::zeroed() };
        values.comp_mask = RAW_CLOCK;
        let context = self.device.context();
        // SAFETY: an open context, and room for the result.
        let number = unsafe {
            match query_rt_values(context) {
                Some(query) => query(context, &raw mut values),
                None => libc::EOPNOTSUPP,
            }
        };
        if number != 0 {
            return Err(io::Error::from_raw_os_error(number.abs()));
        }
        if values.comp_mask & RAW_CLOCK == 0 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        // Providers store the raw counter there (mlx4, mlx5).
        Ok(values.raw_clock.tv_nsec as u64)
    }
}
