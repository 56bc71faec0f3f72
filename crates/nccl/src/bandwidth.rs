//! Bandwidths in whole MB/s.
//!
//! NCCL computes in GB/s as 32-bit floats and rounds each subtraction to 0.001 GB/s so that the remaining
//! bandwidth of a link stays exact (NCCL 2.30 `src/graph/search.cc`). Whole MB/s give the same values.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A bandwidth per direction in MB/s (1e6 B/s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bandwidth(i32);

impl Bandwidth {
    /// No bandwidth.
    pub const ZERO: Self = Self(0);
    /// Bandwidth of a path that needs no link: 5000 GB/s.
    pub const LOCAL: Self = Self(5_000_000);

    /// A bandwidth in MB/s.
    #[must_use]
    pub const fn from_mb(mb_per_s: i32) -> Self {
        Self(mb_per_s)
    }

    /// A bandwidth in whole GB/s (1e9 B/s).
    #[must_use]
    pub const fn from_gb(gb_per_s: i32) -> Self {
        Self(gb_per_s * 1000)
    }

    /// The bandwidth in MB/s.
    #[must_use]
    pub const fn mb(self) -> i32 {
        self.0
    }

    /// The bandwidth in GB/s, rounded down.
    #[must_use]
    pub const fn whole_gb(self) -> i32 {
        self.0 / 1000
    }

    /// The bandwidth in GB/s.
    #[must_use]
    #[expect(clippy::float_arithmetic, reason = "unit of the tuner's formulas")]
    pub fn gb(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// `numerator / denominator` of the bandwidth, rounded to the nearest MB/s.
    #[must_use]
    pub const fn scaled(self, numerator: i32, denominator: i32) -> Self {
        Self((self.0 * numerator + denominator / 2) / denominator)
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.gb())
    }
}

impl Add for Bandwidth {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Bandwidth {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<i32> for Bandwidth {
    type Output = Self;
    #[inline]
    fn mul(self, factor: i32) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<i32> for Bandwidth {
    type Output = Self;
    #[inline]
    fn div(self, divisor: i32) -> Self {
        Self(self.0 / divisor)
    }
}

impl AddAssign for Bandwidth {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Bandwidth {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
