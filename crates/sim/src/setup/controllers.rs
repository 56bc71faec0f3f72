//! How each queue pair is paced.

use spec::{RateControl, RunSpec};
use std::sync::Arc;
use topology::{Attachment, Graph};
use transport::{Controller, DcqcnConfig, DcqcnPacer, LineRate};
use units::{AttachmentId, Rate, Span};

/// The rate controllers of a run: their parameters are shared by all queue pairs of one line rate.
pub(super) struct Controllers<'a> {
    graph: &'a Graph,
    by_rate: Vec<(Rate, Arc<DcqcnConfig>)>,
}

impl<'a> Controllers<'a> {
    pub(super) fn new(spec: &RunSpec, graph: &'a Graph) -> Self {
        let mut by_rate: Vec<(Rate, Arc<DcqcnConfig>)> = Vec::new();
        for attachment in &graph.attachments {
            let rate = port_rate(graph, attachment);
            if by_rate.iter().all(|known| known.0 != rate) {
                by_rate.extend(dcqcn_config(spec, rate).map(|config| (rate, Arc::new(config))));
            }
        }
        Self { graph, by_rate }
    }

    /// The controller of a queue pair that sends by `attachment`.
    pub(super) fn of(&self, attachment: AttachmentId) -> Controller {
        self.at(port_rate(self.graph, self.graph.attachment(attachment)))
    }

    /// The controller of a queue pair that sends by a port of that rate.
    pub(super) fn at(&self, rate: Rate) -> Controller {
        if self.by_rate.is_empty() {
            return Controller::LineRate(LineRate);
        }
        let known = self.by_rate.iter().find(|known| known.0 == rate).expect("every port's rate is known");
        Controller::Dcqcn(DcqcnPacer::new(Arc::clone(&known.1)))
    }
}

/// The parameters of DCQCN at a port, if it is used.
const fn dcqcn_config(spec: &RunSpec, line_rate: Rate) -> Option<DcqcnConfig> {
    match spec.transport.rate_control {
        RateControl::LineRate {} => None,
        RateControl::Dcqcn {
            g_2e20,
            alpha_timer_ps,
            rate_cut_period_ps,
            increase_timer_ps,
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps,
            hyper_increase_bps,
            rate_min_bps,
            clamp_target_rate,
            cnp_interval_ps: _,
        } => Some(DcqcnConfig {
            g: g_2e20 as u64,
            alpha_timer: Span(alpha_timer_ps),
            rate_cut_period: Span(rate_cut_period_ps),
            increase_timer: Span(increase_timer_ps),
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps,
            hyper_increase_bps,
            rate_min_bps,
            clamp_target_rate,
            line_rate_bps: line_rate.bps(),
        }),
    }
}

pub(super) fn cnp_interval(spec: &RunSpec) -> Option<Span> {
    match spec.transport.rate_control {
        RateControl::LineRate {} => None,
        RateControl::Dcqcn { cnp_interval_ps, .. } => Some(Span(cnp_interval_ps)),
    }
}

/// Rate of a host port.
fn port_rate(graph: &Graph, attachment: &Attachment) -> Rate {
    let Attachment { host, host_port, .. } = *attachment;
    graph.link(graph.nodes[host.index()].ports[usize::from(host_port)].link).rate
}
