//! Sender of a TCP connection: window, recovery, retransmission timer and counters.

use super::scoreboard::Scoreboard;
use super::{
    AckEvent, Acknowledgement, Block, Congestion, CongestionControl, CongestionWindow, RttEstimator,
    TcpConfig,
};
use units::{Instant, Span};

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its range of bytes in the stream.
    pub block: Block,
    /// It was sent before.
    pub is_retransmission: bool,
}

/// Statistics of a sender since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Segments sent, including resent ones.
    pub segments: u64,
    /// Segments resent.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Losses detected by selective acknowledgements.
    pub fast_recoveries: u64,
    /// Acknowledgements that echo "congestion experienced".
    pub congestion_echoes: u64,
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No recovery.
    Open,
    /// RFC 6675, 5: until this offset is acknowledged.
    FastRecovery { until: u64 },
    /// After a timeout, until this offset is acknowledged.
    Timeout { until: u64 },
}

/// Sender of a connection.
#[derive(Clone, Debug)]
pub struct TcpSender {
    /// Offset before which everything is acknowledged.
    acked: u64,
    /// Offset before which everything was sent.
    sent: u64,
    /// Offset before which everything was written by the application.
    written: u64,
    board: Scoreboard,
    phase: Phase,
    /// The first segment of a recovery is sent regardless of the window (RFC 6675, 5, 4.3).
    must_resend: bool,
    /// The window has limited the sender since the last acknowledgement.
    is_window_limited: bool,
    window: CongestionWindow,
    congestion: Congestion,
    rtt: RttEstimator,
    deadline: Instant,
    counters: TcpCounters,
}

impl TcpSender {
    /// Panics if `config` is invalid.
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        config.assert_in_range();
        Self {
            acked: 0,
            sent: 0,
            written: 0,
            board: Scoreboard::default(),
            phase: Phase::Open,
            must_resend: false,
            is_window_limited: false,
            window: CongestionWindow::new(config),
            congestion: Congestion::new(config.congestion),
            rtt: RttEstimator::default(),
            deadline: Instant::NEVER,
            counters: TcpCounters::default(),
        }
    }

    /// The application writes `bytes` more.
    #[inline]
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Bytes written so far.
    #[inline]
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Bytes acknowledged so far.
    #[inline]
    #[must_use]
    pub const fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes that the application may still write: written and unacknowledged bytes must fit the window.
    #[inline]
    #[must_use]
    pub const fn room(&self, config: &TcpConfig) -> u64 {
        (self.acked + config.window_bytes).saturating_sub(self.written)
    }

    /// The congestion window.
    #[must_use]
    pub const fn window(&self) -> &CongestionWindow {
        &self.window
    }

    /// The congestion control.
    #[must_use]
    pub const fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// Round-trip time and retransmission timeout.
    #[must_use]
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Statistics.
    #[must_use]
    pub const fn counters(&self) -> &TcpCounters {
        &self.counters
    }

    /// Time at which [`Self::on_timeout`] is due.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether [`Self::poll_transmit`] has a segment.
    #[inline]
    pub fn can_transmit(&mut self, config: &TcpConfig) -> bool {
        self.resend_bytes().is_some() || self.new_bytes(config) > 0
    }

    /// The next segment to send, lost ones first (RFC 6675, 4, `NextSeg`).
    pub fn poll_transmit(&mut self, config: &TcpConfig, now: Instant) -> Option<Segment> {
        let segment = match self.resend_bytes().and_then(|_| self.board.resend(now)) {
            Some(block) => {
                self.must_resend = false;
                self.counters.retransmissions += 1;
                Segment { block, is_retransmission: true }
            }
            None => self.send_new(config, now)?,
        };
        self.counters.segments += 1;
        if self.deadline == Instant::NEVER {
            // RFC 6298, 5.1.
            self.deadline = now + self.rtt.timeout(config);
        }
        Some(segment)
    }

    fn send_new(&mut self, config: &TcpConfig, now: Instant) -> Option<Segment> {
        let bytes = self.new_bytes(config);
        if bytes == 0 {
            return None;
        }
        let block = Block { start: self.sent, end: self.sent + bytes };
        self.sent = block.end;
        self.board.send(block, now);
        Some(Segment { block, is_retransmission: false })
    }

    /// Bytes of the next segment to resend, if the window permits it.
    #[inline]
    fn resend_bytes(&mut self) -> Option<u64> {
        if self.board.lost() == 0 {
            return None;
        }
        let bytes = self.board.next_resend_bytes()?;
        (self.must_resend || self.board.pipe() + bytes <= self.window.bytes).then_some(bytes)
    }

    /// Bytes of a new segment, if the window permits it.
    #[inline]
    fn new_bytes(&mut self, config: &TcpConfig) -> u64 {
        let bytes = (self.written - self.sent).min(u64::from(config.mss_bytes));
        if bytes == 0 || self.sent + bytes > self.acked + config.window_bytes {
            return 0;
        }
        if self.board.pipe() + self.board.lost() + bytes > self.window.bytes {
            self.is_window_limited = true;
            return 0;
        }
        // RFC 9293, 3.7.4 (Nagle): a small segment waits while any byte is in flight.
        let is_small = bytes < u64::from(config.mss_bytes) && self.sent > self.acked;
        if is_small { 0 } else { bytes }
    }

    /// Processes an acknowledgement. Returns the number of bytes that it newly acknowledges in order.
    pub fn on_ack(&mut self, config: &TcpConfig, now: Instant, ack: &Acknowledgement) -> u64 {
        if ack.offset < self.acked || ack.offset > self.sent {
            return 0;
        }
        let in_flight = self.board.pipe().min(self.window.bytes);
        let bytes = ack.offset - self.acked;
        self.acked = ack.offset;
        let acked = self.board.acknowledge(ack.offset);
        if let Some(sent_at) = acked.sent_at {
            self.rtt.measure(now.since(sent_at));
        }
        self.board.mark_sacked(ack.sack.as_slice());
        self.board.detect_losses(u64::from(config.mss_bytes));
        self.leave_recovery();
        self.counters.congestion_echoes += u64::from(ack.congestion_echo);
        if bytes > 0 {
            self.advance(config, now, bytes, ack.congestion_echo);
        }
        self.enter_recovery(in_flight);
        bytes
    }

    /// New data was acknowledged: updates the window, restarts the timer (RFC 6298, 5.2 and 5.3).
    fn advance(&mut self, config: &TcpConfig, now: Instant, acked: u64, congestion_echo: bool) {
        let event = AckEvent {
            now,
            acked,
            acked_until: self.acked,
            sent_until: self.sent,
            smoothed_rtt: self.rtt.smoothed(),
            is_window_limited: self.is_window_limited,
            congestion_echo,
            is_recovering: matches!(self.phase, Phase::FastRecovery { .. }),
        };
        self.congestion.on_ack(&mut self.window, &event);
        self.is_window_limited = false;
        self.deadline = if self.board.is_empty() { Instant::NEVER } else { now + self.rtt.timeout(config) };
    }

    fn leave_recovery(&mut self) {
        match self.phase {
            Phase::FastRecovery { until } | Phase::Timeout { until } if self.acked >= until => {
                self.phase = Phase::Open;
            }
            _ => {}
        }
    }

    /// RFC 6675, 5: losses outside a recovery start one.
    fn enter_recovery(&mut self, in_flight: u64) {
        if self.phase != Phase::Open || self.board.lost() == 0 {
            return;
        }
        self.phase = Phase::FastRecovery { until: self.sent };
        self.must_resend = true;
        self.counters.fast_recoveries += 1;
        self.congestion.on_loss(&mut self.window, in_flight);
    }

    /// Fires the retransmission timer if it is due (RFC 6298, 5.4 to 5.6); true if it was.
    pub fn on_timeout(&mut self, config: &TcpConfig, now: Instant) -> bool {
        if now < self.deadline {
            return false;
        }
        self.counters.timeouts += 1;
        // RFC 5681, 3.1: a segment that is lost again does not lower the threshold again.
        if !matches!(self.phase, Phase::Timeout { .. }) {
            let in_flight = (self.board.pipe() + self.board.lost()).min(self.window.bytes);
            self.congestion.on_timeout(&mut self.window, in_flight);
        } else {
            self.window.bytes = self.window.mss;
        }
        self.board.lose_all();
        self.phase = Phase::Timeout { until: self.sent };
        self.rtt.back_off();
        self.deadline = now + self.rtt.timeout(config);
        true
    }

    /// The smoothed round-trip time.
    #[must_use]
    pub fn smoothed_rtt(&self) -> Span {
        self.rtt.smoothed()
    }
}
