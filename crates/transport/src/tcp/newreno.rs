//! NewReno: slow start and congestion avoidance of RFC 5681, counting bytes (RFC 3465).

use super::congestion::{AckEvent, CongestionControl, CongestionWindow};

/// Additive increase of one segment per acknowledged window, halving on loss.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    /// Bytes acknowledged since the window last grew.
    acked: u64,
}

impl NewReno {
    /// Grows the window for `acked` bytes.
    #[inline]
    pub(super) fn grow(&mut self, window: &mut CongestionWindow, acked: u64) {
        if window.is_in_slow_start() {
            window.grow_in_slow_start(acked);
            return;
        }
        self.acked += acked;
        if self.acked >= window.bytes {
            self.acked -= window.bytes;
            window.bytes += window.mss;
        }
    }

    /// Resets the count after a reduction of the window.
    pub(super) const fn restart(&mut self) {
        self.acked = 0;
    }
}

impl CongestionControl for NewReno {
    #[inline]
    fn on_ack(&mut self, window: &mut CongestionWindow, event: &AckEvent) {
        if event.is_window_limited && !event.is_recovering {
            self.grow(window, event.acked);
        }
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        window.reduce_to(in_flight / 2);
        self.restart();
    }

    fn on_timeout(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        window.collapse(in_flight / 2);
        self.restart();
    }
}
