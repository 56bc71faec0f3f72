//! Rate control of a requester: send time of the next packet and number of packets in flight. The interfaces,
//! the list of controls, and the controller of a queue pair. One file per control, with its parameters.

mod adapter;
mod dcqcn;
mod feedback;
mod fixed;
mod line_rate;
mod swift;
mod timed;
mod timely;

pub use adapter::{Adapter, AdapterConfig};
pub use dcqcn::{Dcqcn, DcqcnConfig};
pub use feedback::{Feedback, HopTelemetry};
pub use fixed::{Fixed, FixedConfig};
pub use line_rate::{LineRate, LineRateConfig};
pub use swift::{Swift, SwiftConfig};
pub use timed::Timed;
pub use timely::{Timely, TimelyConfig};

use crate::Position;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::sync::Arc;
use units::{Instant, Rate, Span, State};
use wire::Psn;

/// Paces one requester by a rate, a window, or both. Timers are applied lazily, at the next packet that the
/// queue pair sends or receives.
pub trait RateControl {
    /// Whether it may delay packets.
    #[must_use]
    fn is_paced(&self) -> bool {
        true
    }

    /// Whether it uses acknowledgements, NAKs and timeouts, so that a driver must report them, and sends
    /// within [`Self::window_packets`]. CNPs are always reported.
    #[must_use]
    fn uses_acks(&self) -> bool {
        false
    }

    /// The earliest time of the next packet.
    #[must_use]
    fn ready_at(&self) -> Instant;

    /// Maximum of packets in flight. The window of [`crate::Config`] applies as well.
    #[must_use]
    fn window_packets(&self) -> u32 {
        u32::MAX
    }

    /// Sets the number of links of the path; see [`RateControlConfig::uses_links`].
    fn set_links(&mut self, _links: u32) {}

    /// The packet `psn` was sent at `now`; it occupies `wire_bytes` of the link.
    fn on_sent(&mut self, now: Instant, psn: Psn, wire_bytes: u32);

    /// An event on the reverse path, or a timeout.
    fn on_feedback(&mut self, feedback: &Feedback<'_>);

    /// Current rate at `now` [bit/s]; `None` at line rate.
    #[must_use]
    fn rate_bps_at(&self, now: Instant) -> Option<u64>;
}

/// Parameters of a rate control in a run.
pub trait RateControlConfig {
    /// Initial controller of queue pairs with this MTU at a port with this rate.
    #[must_use]
    fn controller(&self, mtu_bytes: u32, line_rate: Rate) -> Controller;

    /// Whether it may delay packets, as [`RateControl::is_paced`].
    #[must_use]
    fn is_paced(&self) -> bool {
        true
    }

    /// Whether it depends on the number of links of each path, so that [`RateControl::set_links`] must be
    /// called.
    #[must_use]
    fn uses_links(&self) -> bool {
        false
    }

    /// Fields that another field of the same control limits.
    #[must_use]
    fn limits(&self) -> Vec<Limit> {
        Vec::new()
    }

    /// Minimum interval between congestion notifications of a receiving queue pair; `None` if it sends none.
    #[must_use]
    fn cnp_interval(&self) -> Option<Span> {
        None
    }

    /// Round-trip time above which a queue pair slows down on a path of this many links; `None` if no
    /// round-trip time does.
    #[must_use]
    fn target_delay(&self, _links: u64) -> Option<Span> {
        None
    }

    /// The largest window [packets], which applies while no round-trip time exceeds the target delay.
    #[must_use]
    fn window_packets_max(&self) -> u32 {
        u32::MAX
    }

    /// Longest interval between two packets of a queue pair. Round-trip times above `timeout` are not measured,
    /// since their packets are resent.
    #[must_use]
    fn interval_max(&self, packet_bytes: u64, timeout: Span) -> Span;
}

/// A field of a rate control that another of its fields limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the field.
    pub field: &'static str,
    /// Its value.
    pub number: u64,
    /// Allowed values.
    pub allowed: RangeInclusive<u64>,
    /// Name of the field that limits it.
    pub limited_by: &'static str,
}

/// Declares the rate controls: name in the spec, parameters, and state of a queue pair.
macro_rules! controllers {
    ($($(#[$doc:meta])* $name:ident($config:ty) => $control:ty),+ $(,)?) => {
        /// Rate control of a run, with its parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[schemars(rename = "RateControl")]
        pub enum RateControlSpec {
            $($(#[$doc])* $name($config)),+
        }

        impl RateControlSpec {
            /// The parameters, which answer all questions about the control.
            #[must_use]
            pub const fn config(&self) -> &dyn RateControlConfig {
                match self {
                    $(Self::$name(config) => config),+
                }
            }
        }

        /// Rate controller of a queue pair, chosen when a run is set up. All queue pairs of a run use the same
        /// variant, so the branch is always predicted, and it is the only cost at line rate.
        #[derive(Clone, Debug, State)]
        pub enum Controller {
            $($(#[$doc])* $name($control),)+
            /// Another controller behind an adapter with a cost per message.
            Adapter(Box<Adapter>),
        }

        impl RateControl for Controller {
            #[inline]
            fn is_paced(&self) -> bool {
                match self {
                    $(Self::$name(control) => control.is_paced(),)+
                    Self::Adapter(adapter) => adapter.is_paced(),
                }
            }

            #[inline]
            fn uses_acks(&self) -> bool {
                match self {
                    $(Self::$name(control) => control.uses_acks(),)+
                    Self::Adapter(adapter) => adapter.uses_acks(),
                }
            }

            #[inline]
            fn ready_at(&self) -> Instant {
                match self {
                    $(Self::$name(control) => control.ready_at(),)+
                    Self::Adapter(adapter) => adapter.ready_at(),
                }
            }

            #[inline]
            fn window_packets(&self) -> u32 {
                match self {
                    $(Self::$name(control) => control.window_packets(),)+
                    Self::Adapter(adapter) => adapter.window_packets(),
                }
            }

            fn set_links(&mut self, links: u32) {
                match self {
                    $(Self::$name(control) => control.set_links(links),)+
                    Self::Adapter(adapter) => adapter.set_links(links),
                }
            }

            #[inline]
            fn on_sent(&mut self, now: Instant, psn: Psn, wire_bytes: u32) {
                match self {
                    $(Self::$name(control) => control.on_sent(now, psn, wire_bytes),)+
                    Self::Adapter(adapter) => adapter.on_sent(now, psn, wire_bytes),
                }
            }

            #[inline]
            fn on_feedback(&mut self, feedback: &Feedback<'_>) {
                match self {
                    $(Self::$name(control) => control.on_feedback(feedback),)+
                    Self::Adapter(adapter) => adapter.on_feedback(feedback),
                }
            }

            fn rate_bps_at(&self, now: Instant) -> Option<u64> {
                match self {
                    $(Self::$name(control) => control.rate_bps_at(now),)+
                    Self::Adapter(adapter) => adapter.rate_bps_at(now),
                }
            }
        }
    };
}
controllers! {
    /// As fast as the port takes it.
    LineRate(LineRateConfig) => LineRate,
    /// A fixed rate of each queue pair.
    Fixed(FixedConfig) => Fixed,
    /// DCQCN (Zhu et al., SIGCOMM 2015).
    Dcqcn(DcqcnConfig) => Dcqcn,
    /// Swift (Kumar et al., SIGCOMM 2020).
    Swift(SwiftConfig) => Box<Timed<Swift>>,
    /// TIMELY (Mittal et al., SIGCOMM 2015).
    Timely(TimelyConfig) => Box<Timed<Timely>>,
}

impl RateControlSpec {
    /// As fast as the port takes it, without CNPs.
    pub const LINE_RATE: Self = Self::LineRate(LineRateConfig { cnp_interval_ps: None });
}

impl Controller {
    /// As fast as the port takes it.
    pub const LINE_RATE: Self = Self::LineRate(LineRate);

    /// Wraps the controller into an adapter if it has a cost per message.
    #[must_use]
    pub fn in_adapter(self, config: Option<&Arc<AdapterConfig>>) -> Self {
        match config {
            Some(config) => Self::Adapter(Box::new(Adapter::new(Arc::clone(config), self))),
            None => self,
        }
    }

    /// A message was posted after all earlier ones had been sent; `is_at_rest` if they were also
    /// acknowledged.
    #[inline]
    pub fn on_post(&mut self, now: Instant, is_at_rest: bool) {
        if let Self::Adapter(adapter) = self {
            adapter.on_post(now, is_at_rest);
        }
    }

    /// The next packet is sent at `now` and has this position in its message.
    #[inline]
    pub fn on_position(&mut self, now: Instant, position: Position) {
        if let Self::Adapter(adapter) = self {
            adapter.on_position(now, position);
        }
    }
}
