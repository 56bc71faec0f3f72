//! Real time, processor time and peak memory of a run.

use std::time::Instant;

/// Time and memory of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) peak_rss_bytes: u64,
}

/// Measures a run from [`start`](Self::start) to [`stop`](Self::stop).
pub(crate) struct Meter {
    wall: Instant,
    cpu_s: f64,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu_s: resources().0 }
    }

    #[expect(clippy::float_arithmetic, reason = "measured on the host, not simulated")]
    pub(crate) fn stop(&self) -> Usage {
        let (cpu_s, peak_rss_bytes) = resources();
        Usage { wall_s: self.wall.elapsed().as_secs_f64(), cpu_s: cpu_s - self.cpu_s, peak_rss_bytes }
    }
}

/// CPU time of this process, user and system [s], and its largest resident size [bytes].
#[expect(clippy::float_arithmetic, reason = "measured on the host, not simulated")]
fn resources() -> (f64, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid, writable rusage; getrusage writes nothing else.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    // ru_maxrss is in KiB on Linux and in bytes on macOS.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss as u64 * unit)
}
