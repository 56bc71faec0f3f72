//! Libraries and their versions: NCCL 2.18 to 2.31. RCCL is recognised and refused.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Patch level of a version that was given without one: the last patch of its series.
const LAST_PATCH: u16 = u16::MAX;

/// A version of NCCL, such as 2.30.7. Without a patch level it is the last patch of the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version {
    minor: u16,
    patch: u16,
}

impl Version {
    /// The oldest version whose rules are known.
    pub const OLDEST: Self = Self::series(18);
    /// The newest version whose rules are known.
    pub const NEWEST: Self = Self::series(31);

    /// The last patch of series 2.`minor`.
    #[must_use]
    pub const fn series(minor: u16) -> Self {
        Self { minor, patch: LAST_PATCH }
    }

    /// Version 2.`minor`.`patch`.
    #[must_use]
    pub const fn patch(minor: u16, patch: u16) -> Self {
        Self { minor, patch }
    }
}

/// A communication library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Library {
    /// NVIDIA's library, of a version.
    Nccl(Version),
    /// AMD's library. It takes rings from built-in models of hosts, and its tuner has tables per GPU; its
    /// choices do not follow from NCCL's rules (ROCm/rccl `src/graph/rome_models.cc`, `src/graph/tuning.cc`).
    Rccl,
}

impl Library {
    /// The version whose rules apply.
    ///
    /// # Errors
    /// [`VersionError::Rccl`], because RCCL's choices cannot be computed here.
    pub const fn nccl(self) -> Result<Version, VersionError> {
        match self {
            Self::Nccl(version) => Ok(version),
            Self::Rccl => Err(VersionError::Rccl),
        }
    }
}

impl VersionError {
    /// Allowed versions.
    pub const ALLOWED: &'static str = "2.18 to 2.31, with or without a patch level";
}

/// A version or a library whose rules are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VersionError {
    /// Not of the form 2.x or 2.x.y.
    #[error("version of NCCL: found {0:?}; allowed: {allowed}", allowed = Self::ALLOWED)]
    Malformed(String),
    /// A version whose rules are not known.
    #[error("version of NCCL: found {0}; allowed: {allowed}", allowed = Self::ALLOWED)]
    Unknown(Version),
    /// RCCL has rules of its own.
    #[error(
        "library: found RCCL; allowed: NCCL; hint: RCCL has built-in graphs and tables per GPU that do not follow \
         from NCCL's rules"
    )]
    Rccl,
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let malformed = || VersionError::Malformed(text.to_owned());
        let mut parts = text.split('.').map(|part| part.parse::<u16>().map_err(|_| malformed()));
        let (major, minor) = (parts.next().ok_or_else(malformed)??, parts.next().ok_or_else(malformed)??);
        let patch = parts.next().unwrap_or(Ok(LAST_PATCH))?;
        if major != 2 || parts.next().is_some() {
            return Err(malformed());
        }
        let version = Self { minor, patch };
        if (Self::OLDEST.minor..=Self::NEWEST.minor).contains(&minor) {
            Ok(version)
        } else {
            Err(VersionError::Unknown(version))
        }
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, VersionError> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.patch {
            LAST_PATCH => write!(formatter, "2.{}", self.minor),
            patch => write!(formatter, "2.{}.{patch}", self.minor),
        }
    }
}
