//! Model of a network adapter's costs per message, in addition to the serialisation time of the bytes:
//! parameters, and the send times of a queue pair.
//!
//! A queue pair starts a message at least `message_cost` after it was posted, and at least `message_cost`
//! after the start of the previous message; after idling it sends its first bytes at a lower rate. The causes
//! inside the adapter (doorbell, fetch of the work request and of the first payload) are not modelled
//! separately. Congestion control applies in addition.

use super::{Controller, Feedback, RateControl};
use crate::Position;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{DURATION_PS_MAX, Instant, RATE_BPS_MAX, Rate, Span, State};
use wire::Psn;

/// Per-message costs of an adapter. All values come from the run spec; nothing here has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MessageCostSpec")]
pub struct AdapterConfig {
    /// Least time from the posting of a message to its first packet, and between the starts of two messages of
    /// a queue pair [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub message_cost_ps: u64,
    /// Least time between the starts of two messages of a port, of any queue pairs [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub message_interval_ps: u64,
    /// Bytes that a queue pair with nothing in flight sends at `start_rate_bps` at most [bytes on the link].
    #[schemars(range(max = 1_u64 << 30))]
    pub start_bytes: u32,
    /// Rate of the first `start_bytes` after idling [bit/s].
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub start_rate_bps: u64,
}

/// Pacing of one queue pair by its adapter, around its congestion control.
#[derive(Clone, Debug, State)]
pub struct Adapter {
    #[state(skip)]
    config: Arc<AdapterConfig>,
    /// Congestion control.
    inner: Controller,
    /// Time from which the adapter has the next packet ready.
    ready_at: Instant,
    /// Time at which the current message started.
    began_at: Instant,
    /// Remaining bytes to send at `start_rate`.
    start_left: u32,
    ends_message: bool,
}

impl Adapter {
    pub(super) const fn new(config: Arc<AdapterConfig>, inner: Controller) -> Self {
        let (ready_at, began_at) = (Instant::ZERO, Instant::ZERO);
        Self { config, inner, ready_at, began_at, start_left: 0, ends_message: false }
    }

    /// A message was posted after all earlier ones had been sent; `is_at_rest` if they were also
    /// acknowledged.
    pub(super) fn on_post(&mut self, now: Instant, is_at_rest: bool) {
        self.ready_at = self.ready_at.max(now + Span(self.config.message_cost_ps));
        if is_at_rest {
            self.start_left = self.config.start_bytes;
        }
    }

    /// The next packet is sent at `now` and has this position in its message.
    pub(super) fn on_position(&mut self, now: Instant, position: Position) {
        if position.starts_message() {
            self.began_at = now;
        }
        self.ends_message = position.ends_message();
    }
}

impl RateControl for Adapter {
    fn uses_acks(&self) -> bool {
        self.inner.uses_acks()
    }

    fn ready_at(&self) -> Instant {
        self.ready_at.max(self.inner.ready_at())
    }

    fn window_packets(&self) -> u32 {
        self.inner.window_packets()
    }

    fn set_links(&mut self, links: u32) {
        self.inner.set_links(links);
    }

    fn on_sent(&mut self, now: Instant, psn: Psn, wire_bytes: u32) {
        self.inner.on_sent(now, psn, wire_bytes);
        if self.ends_message {
            self.ready_at = self.ready_at.max(self.began_at + Span(self.config.message_cost_ps));
        }
        if self.start_left > 0 {
            self.start_left = self.start_left.saturating_sub(wire_bytes);
            self.ready_at = self
                .ready_at
                .max(now + Rate::from_bps(self.config.start_rate_bps).span_of(wire_bytes.into()));
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.inner.on_feedback(feedback);
    }

    fn rate_bps_at(&self, now: Instant) -> Option<u64> {
        self.inner.rate_bps_at(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: AdapterConfig = AdapterConfig {
        message_cost_ps: 250_000,
        message_interval_ps: 0,
        start_bytes: 10_000,
        start_rate_bps: 50_000_000_000,
    };

    fn adapter() -> Controller {
        Controller::LINE_RATE.in_adapter(Some(&Arc::new(CONFIG)))
    }

    fn send(adapter: &mut Controller, at: u64, position: Position, wire_bytes: u32) {
        assert!(adapter.ready_at() <= Instant(at), "{:?}", adapter.ready_at());
        adapter.on_position(Instant(at), position);
        adapter.on_sent(Instant(at), Psn::new(0), wire_bytes);
    }

    #[test]
    fn a_message_waits_for_its_cost_and_the_next_one_for_that_of_its_own() {
        let mut adapter = adapter();
        adapter.on_post(Instant(1_000_000), false);
        assert_eq!(adapter.ready_at(), Instant(1_250_000));
        send(&mut adapter, 1_250_000, Position::Only, 100);
        assert_eq!(adapter.ready_at(), Instant(1_500_000));
        // A long message has taken longer than the cost of the next.
        send(&mut adapter, 1_500_000, Position::First, 100);
        send(&mut adapter, 1_900_000, Position::Last, 100);
        assert_eq!(adapter.ready_at(), Instant(1_750_000));
    }

    #[test]
    fn the_first_bytes_after_a_rest_are_sent_more_slowly() {
        let mut adapter = adapter();
        adapter.on_post(Instant(0), true);
        send(&mut adapter, 250_000, Position::First, 6_000);
        assert_eq!(adapter.ready_at(), Instant(250_000 + 960_000));
        send(&mut adapter, 1_210_000, Position::Middle, 6_000);
        assert_eq!(adapter.ready_at(), Instant(1_210_000 + 960_000));
        send(&mut adapter, 2_170_000, Position::Last, 6_000);
        assert_eq!(adapter.ready_at(), Instant(2_170_000));
    }

    #[test]
    fn without_costs_a_controller_stays_what_it_is() {
        assert!(!Controller::LINE_RATE.in_adapter(None).is_paced());
        assert!(adapter().is_paced() && !adapter().uses_acks());
    }
}
