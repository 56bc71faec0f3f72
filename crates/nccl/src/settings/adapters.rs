//! `NCCL_IB_HCA`: which RDMA devices a host uses.

use serde::{Deserialize, Serialize};

/// Devices to use, by prefix or by exact name, or to leave out.
///
/// `mlx5` is every device whose name starts so, `=mlx5_0:1` port 1 of one device, `^` in front leaves the
/// listed ones out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterFilter {
    excluded: bool,
    exact: bool,
    devices: Vec<Device>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    name: String,
    port: Option<u32>,
}

impl AdapterFilter {
    /// Whether a port of a device is used.
    #[must_use]
    pub fn allows(&self, name: &str, port: u32) -> bool {
        let matches = |device: &Device| {
            let same = if self.exact { name == device.name } else { name.starts_with(&device.name) };
            same && device.port.is_none_or(|number| number == port)
        };
        self.devices.is_empty() || self.devices.iter().any(matches) != self.excluded
    }

    /// Reads a value. The error names the allowed values.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (excluded, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (exact, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
        let devices = text.split(',').filter(|device| !device.is_empty()).map(Device::parse);
        Ok(Self { excluded, exact, devices: devices.collect::<Result<_, _>>()? })
    }
}

impl Device {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => {
                let number = port.parse().map_err(|_| format!("a number of a port instead of {port:?}"))?;
                (name, Some(number))
            }
            None => (text, None),
        };
        Ok(Self { name: name.to_owned(), port })
    }
}
