//! Builds the initial rate controllers (congestion control) of queue pairs, by line rate and clock of their
//! host.

use crate::setup::HostClock;
use spec::RunSpec;
use std::sync::Arc;
use topology::{Attachment, Graph};
use transport::{AdapterConfig, Controller};
use units::{AttachmentId, HostId, Rate};

/// The rate controllers of a run, one per line rate; queue pairs share its parameters.
pub(crate) struct Controllers<'a> {
    spec: &'a RunSpec,
    graph: &'a Graph,
    by_rate: Vec<(Rate, Controller)>,
    /// Per-message costs of the adapter, if configured.
    adapter: Option<Arc<AdapterConfig>>,
}

impl<'a> Controllers<'a> {
    pub(crate) fn new(spec: &'a RunSpec, graph: &'a Graph) -> Self {
        let adapter = spec.fabric.nic.messages.map(Arc::new);
        let mut controllers = Self { spec, graph, by_rate: Vec::new(), adapter };
        for attachment in &graph.attachments {
            let rate = port_rate(graph, attachment);
            if controllers.by_rate.iter().all(|entry| entry.0 != rate) {
                controllers.by_rate.push((rate, controllers.begin(rate)));
            }
        }
        controllers
    }

    fn begin(&self, rate: Rate) -> Controller {
        let transport = &self.spec.transport;
        transport
            .rate_control
            .config()
            .controller(transport.mtu_bytes, rate)
            .in_adapter(self.adapter.as_ref())
    }

    /// The controller of a queue pair that sends by `attachment`.
    pub(crate) fn of(&self, attachment: AttachmentId) -> Controller {
        let attachment = self.graph.attachment(attachment);
        self.at(attachment.host, port_rate(self.graph, attachment))
    }

    /// The controller of a queue pair that sends by a port of `host` with this rate.
    pub(crate) fn at(&self, host: HostId, rate: Rate) -> Controller {
        let rate = HostClock::of(self.spec, host).rate(rate);
        let entry = self.by_rate.iter().find(|entry| entry.0 == rate);
        entry.map_or_else(|| self.begin(rate), |entry| entry.1.clone())
    }
}

/// Rate of a host port.
fn port_rate(graph: &Graph, attachment: &Attachment) -> Rate {
    let Attachment { host, host_port, .. } = *attachment;
    graph.link(graph.nodes[host.index()].ports[usize::from(host_port)].link).rate
}
