//! Builds the graph of a spec.

use crate::LinkNames;
use crate::addresses;
use spec::{
    CustomLinkSpec, CustomSwitchSpec, ExtraDelaySpec, FabricSpec, LinkLayerSpec, LinkSpec, SpecError,
    TopologySpec,
};
use topology::{
    Builder, Custom, CustomLink, CustomSwitch, FatTree, FullMesh, Graph, LeafSpine, LinkParams, MultiPlane,
    RailOptimised, RailPods, SingleSwitch,
};
use units::{Rate, Span};
use wire::{Framing, RoceMtu};

/// The network of a spec, including extra delays of links and addresses of host ports.
///
/// # Errors
/// If the network exceeds the limits, an extra delay refers to an unknown link, or host ports cannot have the
/// addresses.
pub fn graph(spec: &FabricSpec) -> Result<Graph, SpecError> {
    let mut graph = builder(&spec.topology)
        .build()
        .map_err(|error| value("fabric.topology", &error.to_string(), "a network within these limits"))?;
    add_delays(&spec.extra_delays, &mut graph)?;
    if let Some(given) = &spec.addresses {
        addresses::assign(given, &mut graph)?;
    }
    Ok(graph)
}

/// Link-layer framing of packets.
#[must_use]
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
#[must_use]
pub fn roce_mtu_bytes(port_mtu_bytes: u32) -> Option<u32> {
    RoceMtu::for_ethernet_mtu(port_mtu_bytes).map(RoceMtu::bytes)
}

/// Adds extra delays to links.
fn add_delays(extra: &[ExtraDelaySpec], graph: &mut Graph) -> Result<(), SpecError> {
    if extra.is_empty() {
        return Ok(());
    }
    let names = LinkNames::of(graph);
    for (index, ExtraDelaySpec { link, delay_ps }) in extra.iter().enumerate() {
        let field = format!("fabric.extra_delays[{index}].link");
        let links = names.find(link).ok_or_else(|| value(&field, link, &names.allowed()))?;
        for link in links {
            let delay = &mut graph.links[link.index()].delay;
            *delay = *delay + Span(*delay_ps);
        }
    }
    Ok(())
}

fn value(field: &str, found: &str, allowed: &str) -> SpecError {
    SpecError::Value { field: field.into(), found: found.into(), allowed: allowed.into() }
}

const fn link(spec: LinkSpec) -> LinkParams {
    LinkParams { rate: Rate::from_bps(spec.rate_bps), delay: Span(spec.cable.delay_ps) }
}

fn custom(switches: &[CustomSwitchSpec], links: &[CustomLinkSpec], host_link: LinkSpec) -> Custom {
    let switch = |spec: &CustomSwitchSpec| CustomSwitch { name: spec.name.clone(), hosts: spec.hosts };
    let cables = |spec: &CustomLinkSpec| CustomLink {
        between: spec.between.clone(),
        count: spec.count,
        cable: link(spec.link),
    };
    Custom {
        switches: switches.iter().map(switch).collect(),
        links: links.iter().map(cables).collect(),
        host_link: link(host_link),
    }
}

/// Builder of a topology. The fields of both have the same names.
#[must_use]
#[expect(clippy::too_many_lines, reason = "one arm for each shape, which lists its fields")]
pub fn builder(topology: &TopologySpec) -> Box<dyn Builder> {
    use TopologySpec as Spec;
    match *topology {
        Spec::Custom { ref switches, ref links, host_link } => Box::new(custom(switches, links, host_link)),
        Spec::SingleSwitch { hosts, host_link } => {
            Box::new(SingleSwitch { hosts, host_link: link(host_link) })
        }
        Spec::FullMesh { hosts, host_link } => Box::new(FullMesh { hosts, host_link: link(host_link) }),
        Spec::LeafSpine { leaves, hosts_per_leaf, spines, links_per_spine, host_link, fabric_link } => {
            let (host_link, fabric_link) = (link(host_link), link(fabric_link));
            Box::new(LeafSpine { leaves, hosts_per_leaf, spines, links_per_spine, host_link, fabric_link })
        }
        Spec::FatTree {
            pods,
            leaves_per_pod,
            hosts_per_leaf,
            aggs_per_pod,
            cores_per_agg,
            host_link,
            fabric_link,
            core_link,
        } => Box::new(FatTree {
            pods,
            leaves_per_pod,
            hosts_per_leaf,
            aggs_per_pod,
            cores_per_agg,
            host_link: link(host_link),
            fabric_link: link(fabric_link),
            core_link: link(core_link),
        }),
        Spec::RailOptimised {
            servers,
            rails,
            spines,
            links_per_spine,
            host_link,
            fabric_link,
            scale_up_link,
        } => Box::new(RailOptimised {
            servers,
            rails,
            spines,
            links_per_spine,
            host_link: link(host_link),
            fabric_link: link(fabric_link),
            scale_up_link: scale_up_link.map(link),
        }),
        Spec::RailPods {
            pods,
            servers_per_pod,
            rails,
            spines_per_rail,
            links_per_spine,
            cores_per_spine,
            links_per_core,
            host_link,
            fabric_link,
            core_link,
            scale_up_link,
        } => Box::new(RailPods {
            pods,
            servers_per_pod,
            rails,
            spines_per_rail,
            links_per_spine,
            cores_per_spine,
            links_per_core,
            host_link: link(host_link),
            fabric_link: link(fabric_link),
            core_link: link(core_link),
            scale_up_link: scale_up_link.map(link),
        }),
        Spec::MultiPlane {
            planes,
            leaves,
            hosts_per_leaf,
            spines,
            links_per_spine,
            host_link,
            fabric_link,
        } => Box::new(MultiPlane {
            planes,
            leaves,
            hosts_per_leaf,
            spines,
            links_per_spine,
            host_link: link(host_link),
            fabric_link: link(fabric_link),
        }),
    }
}
