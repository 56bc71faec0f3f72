//! NCCL's environment variables that the rules use, under their own names and syntax.

mod adapters;
mod choices;

pub use adapters::AdapterFilter;
pub use choices::Choices;

use crate::kinds::{Algorithm, Protocol};
use crate::paths::PathType;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Settings of a run. The default is NCCL without variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `NCCL_ALGO`.
    pub algorithms: Choices<Algorithm>,
    /// `NCCL_PROTO`.
    pub protocols: Choices<Protocol>,
    /// `NCCL_MIN_NCHANNELS`: fewest channels of rings and trees.
    pub min_channels: Option<usize>,
    /// `NCCL_MAX_NCHANNELS`: most channels of rings and trees.
    pub max_channels: Option<usize>,
    /// `NCCL_MIN_CTAS`: fewest channels, of NVLS as well.
    pub min_ctas: Option<usize>,
    /// `NCCL_MAX_CTAS`: most channels, of NVLS as well.
    pub max_ctas: Option<usize>,
    /// `NCCL_NVLS_NCHANNELS`.
    pub nvls_channels: Option<usize>,
    /// `NCCL_MIN_P2P_NCHANNELS`.
    pub min_p2p_channels: Option<usize>,
    /// `NCCL_MAX_P2P_NCHANNELS`.
    pub max_p2p_channels: Option<usize>,
    /// `NCCL_NCHANNELS_PER_NET_PEER`.
    pub channels_per_net_peer: Option<usize>,
    /// `NCCL_NETDEVS_POLICY`.
    pub nics_per_gpu: NicsPerGpu,
    /// `NCCL_CROSS_NIC`: 0 never, 1 always, 2 if it is better.
    pub cross_nic: u8,
    /// `NCCL_PXN_DISABLE`.
    pub pxn_disable: bool,
    /// `NCCL_PXN_C2C`; none is the default of the version.
    pub pxn_over_c2c: Option<bool>,
    /// `NCCL_P2P_PXN_LEVEL`: 0 never, 1 where the path is PXN or better, 2 always.
    pub p2p_pxn_level: u8,
    /// `NCCL_P2P_LEVEL`; `NCCL_P2P_DISABLE=1` is LOC.
    pub p2p_level: Option<PathType>,
    /// `NCCL_NET_GDR_LEVEL`.
    pub gpu_direct_level: Option<PathType>,
    /// `NCCL_NET_GDR_C2C`.
    pub gpu_direct_over_c2c: bool,
    /// `NCCL_MNNVL_ENABLE`: 0 makes each server of an NVLink domain a node; 1 and 2 join them where NVLink does.
    pub nvlink_domains: bool,
    /// `NCCL_NVLS_ENABLE`: 0 is off; 1 and 2 use NVLS where the hardware has it.
    pub nvls: bool,
    /// `NCCL_BUFFSIZE`: buffer of a Simple connection [B].
    pub buffer_bytes: Option<u64>,
    /// `NCCL_P2P_NET_CHUNKSIZE` [B].
    pub p2p_net_chunk_bytes: Option<u64>,
    /// `NCCL_IB_HCA`.
    pub adapters: Option<AdapterFilter>,
    /// `NCCL_IB_QPS_PER_CONNECTION`.
    pub queue_pairs_per_connection: u32,
    /// `NCCL_IB_SPLIT_DATA_ON_QPS`.
    pub split_data_on_queue_pairs: bool,
    /// `NCCL_IB_TC`: traffic class of RoCE packets.
    pub traffic_class: Option<u8>,
    /// `NCCL_IB_TIMEOUT`: exponent of the timeout, 4.096 us * 2^n.
    pub timeout_exponent: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            algorithms: Choices::default(),
            protocols: Choices::default(),
            min_channels: None,
            max_channels: None,
            min_ctas: None,
            max_ctas: None,
            nvls_channels: None,
            min_p2p_channels: None,
            max_p2p_channels: None,
            channels_per_net_peer: None,
            nics_per_gpu: NicsPerGpu::Auto,
            cross_nic: 2,
            pxn_disable: false,
            pxn_over_c2c: None,
            p2p_pxn_level: 2,
            p2p_level: None,
            gpu_direct_level: None,
            gpu_direct_over_c2c: true,
            nvlink_domains: true,
            nvls: true,
            buffer_bytes: None,
            p2p_net_chunk_bytes: None,
            adapters: None,
            queue_pairs_per_connection: 1,
            split_data_on_queue_pairs: false,
            traffic_class: None,
            timeout_exponent: 20,
        }
    }
}

/// NICs that a GPU uses of those nearest to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NicsPerGpu {
    /// Divided among the GPUs that share them.
    #[default]
    Auto,
    /// All.
    All,
    /// At most a number.
    Max(usize),
}

/// A value that a variable does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}: found {value:?}; allowed: {allowed}")]
pub struct SettingError {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Values that it takes.
    pub allowed: String,
}

/// Settings, and the variables without an effect on the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedSettings {
    /// The settings.
    pub settings: Settings,
    /// Names of variables that are not among the settings, in the order given.
    pub ignored: Vec<String>,
}

impl Settings {
    /// Reads variables. A later value of the same variable replaces an earlier one.
    ///
    /// # Errors
    /// [`SettingError`] for the first variable with a value that it does not take.
    pub fn from_variables<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ParsedSettings, SettingError> {
        let mut parsed = ParsedSettings { settings: Self::default(), ignored: Vec::new() };
        for (name, value) in variables {
            match parsed.settings.set(name, value) {
                Ok(true) => {}
                Ok(false) => parsed.ignored.push(name.to_owned()),
                Err(allowed) => {
                    return Err(SettingError { name: name.to_owned(), value: value.to_owned(), allowed });
                }
            }
        }
        Ok(parsed)
    }

    /// Sets a variable; false if it is none of the settings.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "NCCL_ALGO" => self.algorithms = Choices::parse(value)?,
            "NCCL_PROTO" => self.protocols = Choices::parse(value)?,
            "NCCL_MIN_NCHANNELS" | "NCCL_MIN_NRINGS" => self.min_channels = Some(count(value)?),
            "NCCL_MAX_NCHANNELS" | "NCCL_MAX_NRINGS" => self.max_channels = Some(count(value)?),
            "NCCL_MIN_CTAS" => self.min_ctas = Some(count(value)?),
            "NCCL_MAX_CTAS" => self.max_ctas = Some(count(value)?),
            "NCCL_NVLS_NCHANNELS" => self.nvls_channels = Some(count(value)?),
            "NCCL_MIN_P2P_NCHANNELS" => self.min_p2p_channels = Some(count(value)?),
            "NCCL_MAX_P2P_NCHANNELS" => self.max_p2p_channels = Some(count(value)?),
            "NCCL_NCHANNELS_PER_NET_PEER" => self.channels_per_net_peer = Some(count(value)?),
            "NCCL_NETDEVS_POLICY" => self.nics_per_gpu = nics_per_gpu(value)?,
            "NCCL_CROSS_NIC" => self.cross_nic = number(value, 0, 2)?,
            "NCCL_PXN_DISABLE" => self.pxn_disable = switch(value)?,
            "NCCL_PXN_C2C" => self.pxn_over_c2c = Some(switch(value)?),
            "NCCL_P2P_PXN_LEVEL" => self.p2p_pxn_level = number(value, 0, 2)?,
            "NCCL_P2P_DISABLE" => self.p2p_level = switch(value)?.then_some(PathType::Loc),
            "NCCL_P2P_LEVEL" => self.p2p_level = Some(level(value)?),
            "NCCL_NET_GDR_LEVEL" => self.gpu_direct_level = Some(level(value)?),
            "NCCL_NET_GDR_C2C" => self.gpu_direct_over_c2c = switch(value)?,
            "NCCL_MNNVL_ENABLE" => self.nvlink_domains = number::<u8>(value, 0, 2)? != 0,
            "NCCL_NVLS_ENABLE" => self.nvls = number::<u8>(value, 0, 2)? != 0,
            "NCCL_BUFFSIZE" => self.buffer_bytes = Some(number(value, 1, 1 << 40)?),
            "NCCL_P2P_NET_CHUNKSIZE" => self.p2p_net_chunk_bytes = Some(number(value, 1, 1 << 40)?),
            "NCCL_IB_HCA" => self.adapters = Some(AdapterFilter::parse(value)?),
            "NCCL_IB_QPS_PER_CONNECTION" => self.queue_pairs_per_connection = number(value, 1, 128)?,
            "NCCL_IB_SPLIT_DATA_ON_QPS" => self.split_data_on_queue_pairs = switch(value)?,
            "NCCL_IB_TC" => self.traffic_class = Some(number(value, 0, 255)?),
            "NCCL_IB_TIMEOUT" => self.timeout_exponent = number(value, 0, 31)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Reads a whole number in decimal, octal (leading 0) or hexadecimal (0x) digits, as C's `strtoll` does.
fn number<T: TryFrom<u64>>(text: &str, least: u64, most: u64) -> Result<T, String> {
    let digits = text.trim();
    let parsed = if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        u64::from_str_radix(hexadecimal, 16)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(digits, 8)
    } else {
        digits.parse()
    };
    let in_range = parsed.ok().filter(|number| (least..=most).contains(number));
    in_range.and_then(|number| T::try_from(number).ok()).ok_or_else(|| format!("{least} to {most}"))
}

fn count(text: &str) -> Result<usize, String> {
    number(text, 1, 1024)
}

fn switch(text: &str) -> Result<bool, String> {
    Ok(number::<u8>(text, 0, 1)? == 1)
}

fn level(text: &str) -> Result<PathType, String> {
    text.parse().map_err(|()| "LOC, NVL, NVB, C2C, PIX, PXB, P2C, PXN, PHB, SYS or 0 to 5".to_owned())
}

fn nics_per_gpu(text: &str) -> Result<NicsPerGpu, String> {
    let text = text.to_ascii_uppercase();
    match text.strip_prefix("MAX:") {
        Some(most) => Ok(NicsPerGpu::Max(count(most)?)),
        None if text == "AUTO" => Ok(NicsPerGpu::Auto),
        None if text == "ALL" => Ok(NicsPerGpu::All),
        None => Err("AUTO, ALL or MAX:n".to_owned()),
    }
}
