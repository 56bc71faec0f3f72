//! Builds WRED by colour (drop precedence) and the colour markers of a switch from the spec.

use crate::link::egress::Wire;
use crate::setup::Fabric;
use crate::setup::switches::{marking_range, marking_stream, priority_mask, share_2e32};
use crate::switch::marking::colour::{Colouring, Marker, Markers};
use crate::switch::marking::wred::{Curve, Wred};
use spec::{EcnSpec, MarkerSpec, RunSpec, WredSpec};
use topology::NodeKind;
use units::NodeId;

/// Kmin, Kmax [bytes] and Pmax [ppm] of ECN marking; `None` if WRED does more than that.
pub(crate) fn marking_thresholds(spec: &RunSpec, ecn: &EcnSpec) -> Option<(u64, u64, u32)> {
    let Some(wred) = &ecn.wred else { return Some((ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax_ppm)) };
    let green = wred.green.filter(|_| only_marks(spec, ecn, wred))?;
    Some((green.kmin_bytes, green.kmax_bytes, green.pmax_ppm))
}

/// Whether WRED is equal to plain ECN marking: all frames are green and ECN-capable, and none is dropped.
fn only_marks(spec: &RunSpec, ecn: &EcnSpec, wred: &WredSpec) -> bool {
    spec.fabric.switch.markers.is_empty()
        && wred.green.is_some_and(|green| green.ecn)
        && spec.tcp.iter().all(|tcp| !ecn.priorities.contains(&tcp.priority))
}

/// WRED of a port, with the random stream of ECN marking; `None` if WRED only marks.
pub(crate) fn wred(spec: &RunSpec, ecn: &EcnSpec, node: NodeId, port: usize, wire: Wire) -> Option<Wred> {
    let wred = ecn.wred.filter(|wred| !only_marks(spec, ecn, wred))?;
    let curves = wred.colours().map(|(_, curve)| {
        curve.map(|curve| Curve {
            range: marking_range(ecn, curve.kmin_bytes, curve.kmax_bytes, wire),
            pmax_2e32: share_2e32(curve.pmax_ppm),
            marks: curve.ecn,
        })
    });
    let priorities = priority_mask(&ecn.priorities);
    Some(Wred { priorities, curves, stream: marking_stream(spec, node, port) })
}

/// Markers that set the colour of frames received by the ports of `nodes`; `None` if no port has any.
pub(crate) fn markers(spec: &RunSpec, fabric: &Fabric, nodes: &[NodeId]) -> Option<Markers> {
    let markers = &spec.fabric.switch.markers;
    let of_port = |port: &topology::Port| -> Vec<Marker> {
        let is_host = fabric.graph.node(port.peer).kind == NodeKind::Host;
        let holds = |marker: &&MarkerSpec| {
            is_host && marker.hosts.as_ref().is_none_or(|hosts| hosts.contains(&port.peer.0))
        };
        markers.iter().filter(holds).map(marker).collect()
    };
    let ports = nodes.iter().flat_map(|&node| fabric.graph.node(node).ports.iter().map(of_port));
    let ports: Vec<_> = ports.collect();
    ports.iter().any(|markers| !markers.is_empty()).then_some(Markers(ports))
}

fn marker(spec: &MarkerSpec) -> Marker {
    Marker {
        priorities: spec.priorities.as_deref().map_or(u8::MAX, priority_mask),
        colouring: Colouring::new(spec.colouring),
    }
}
