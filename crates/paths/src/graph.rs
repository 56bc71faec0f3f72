//! Builds the graph of a spec (hosts, switches, links with extra delays, addresses); framing of packets, and
//! the largest RoCE MTU of a port.

use crate::LinkNames;
use crate::addresses;
use spec::{ExtraDelaySpec, FabricSpec, LinkLayerSpec, SpecError, unsupported};
use topology::Graph;
use units::{Rate, Span};
use wire::{Framing, RoceMtu};

/// The network of a spec, including extra delays of links and addresses of host ports.
///
/// # Errors
/// If the network exceeds the limits, an extra delay refers to an unknown link, or host ports cannot have the
/// addresses.
pub fn graph(spec: &FabricSpec) -> Result<Graph, SpecError> {
    let mut graph = spec
        .topology
        .builder()
        .build()
        .map_err(|error| unsupported("fabric.topology", error, "a network within these limits"))?;
    if let Some(server) = &spec.server {
        if graph.attachments.len() > graph.hosts() {
            let found = "hosts with several ports as adapters of servers";
            return Err(unsupported("fabric.server", found, "hosts of the topology with one port each"));
        }
        graph = graph.with_servers(server.adapters as usize);
        if let Some(bus) = server.bus_rate_bps {
            limit_adapters(&mut graph, Rate::from_bps(bus));
        }
    }
    add_delays(&spec.extra_delays, &mut graph)?;
    if let Some(given) = &spec.addresses {
        addresses::assign(given, &mut graph)?;
    }
    Ok(graph)
}

/// Link-layer framing of packets.
pub fn framing(spec: &FabricSpec) -> Framing {
    let has_vlan = spec.addresses.as_ref().is_some_and(|given| given.vlan.is_some());
    match spec.link_layer {
        LinkLayerSpec::Ethernet {} if has_vlan => Framing::TaggedEthernet,
        LinkLayerSpec::Ethernet {} => Framing::Ethernet,
        LinkLayerSpec::Infiniband { .. } => Framing::Infiniband,
    }
}

/// Largest RoCE MTU that fits a port's Ethernet MTU together with the headers [bytes]; `None` below 320
/// bytes.
pub fn roce_mtu_bytes(port_mtu_bytes: u32) -> Option<u32> {
    RoceMtu::for_ethernet_mtu(port_mtu_bytes).map(RoceMtu::bytes)
}

/// Limits the links of hosts to the rate of their buses.
///
/// An adapter that its host serves too slowly pauses its switch port when its buffer is full, which is small next
/// to that of the switch: so data wait in the switch, as before a slower link.
fn limit_adapters(graph: &mut Graph, bus: Rate) {
    // Link `a` is the cable of attachment `a`.
    let count = graph.attachments.len();
    for link in graph.links.iter_mut().take(count) {
        link.rate = Rate::from_bps(link.rate.bps().min(bus.bps()));
    }
}

/// Adds extra delays to links.
fn add_delays(extra: &[ExtraDelaySpec], graph: &mut Graph) -> Result<(), SpecError> {
    if extra.is_empty() {
        return Ok(());
    }
    let names = LinkNames::of(graph);
    for (index, ExtraDelaySpec { link, delay_ps }) in extra.iter().enumerate() {
        let field = format!("fabric.extra_delays[{index}].link");
        let links = names.find(link).ok_or_else(|| unsupported(&field, link, names.allowed()))?;
        for link in links {
            let delay = &mut graph.links[link.index()].delay;
            *delay = *delay + Span(*delay_ps);
        }
    }
    Ok(())
}
