//! How each queue pair is paced.

use jobs::controller;
use spec::RunSpec;
use topology::{Attachment, Graph};
use transport::Controller;
use units::{AttachmentId, Rate};

/// The rate controllers of a run, one for each line rate: queue pairs share its parameters.
pub(super) struct Controllers<'a> {
    graph: &'a Graph,
    by_rate: Vec<(Rate, Controller)>,
}

impl<'a> Controllers<'a> {
    pub(super) fn new(spec: &RunSpec, graph: &'a Graph) -> Self {
        let mut by_rate: Vec<(Rate, Controller)> = Vec::new();
        for attachment in &graph.attachments {
            let rate = port_rate(graph, attachment);
            if by_rate.iter().all(|known| known.0 != rate) {
                by_rate.push((rate, controller(spec, rate)));
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
        let known = self.by_rate.iter().find(|known| known.0 == rate).expect("every port's rate is known");
        known.1.clone()
    }
}

/// Rate of a host port.
fn port_rate(graph: &Graph, attachment: &Attachment) -> Rate {
    let Attachment { host, host_port, .. } = *attachment;
    graph.link(graph.nodes[host.index()].ports[usize::from(host_port)].link).rate
}
