//! Assigns the addresses that a spec configures to host ports, and checks them: MAC addresses, IPv4 subnets
//! or lists, gateways.

use spec::{AddressSpec, GatewaySpec, Ipv4Spec, SpecError, SubnetOf, unsupported};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::Ipv4Addr;
use topology::{Attachment, Graph};

/// First octets `02:01` as a number: prefix of switch port MAC addresses (`topology`).
const SWITCH_MACS: u64 = 0x0201;
/// The group bit of a MAC address. IEEE 802-2014, 8.2.2.
const GROUP_BIT: u64 = 1 << 40;
/// Address ranges not allowed for host ports: 0.0.0.0/8, loopback, link-local (next hop of labs), and
/// multicast to the end.
const RESERVED: [(Ipv4Addr, Ipv4Addr); 4] = [
    (Ipv4Addr::new(0, 0, 0, 0), Ipv4Addr::new(0, 255, 255, 255)),
    (Ipv4Addr::new(127, 0, 0, 0), Ipv4Addr::new(127, 255, 255, 255)),
    (Ipv4Addr::new(169, 254, 0, 0), Ipv4Addr::new(169, 254, 255, 255)),
    (Ipv4Addr::new(224, 0, 0, 0), Ipv4Addr::new(255, 255, 255, 255)),
];

/// Assigns the addresses of a spec to the host ports of a graph.
///
/// # Errors
/// If there are too few addresses, or one is not valid for a host port.
pub(crate) fn assign(spec: &AddressSpec, graph: &mut Graph) -> Result<(), SpecError> {
    if let Some(first) = spec.mac_first {
        assign_macs(first, &mut graph.attachments)?;
    }
    match &spec.ipv4 {
        None => return Ok(()),
        Some(Ipv4Spec::Subnets { network, prefix, each, gateway }) => {
            let plan = Subnets { network: *network, prefix: *prefix, each: *each, gateway: *gateway };
            plan.assign(&mut graph.attachments)?;
        }
        Some(Ipv4Spec::Listed { addresses, prefix, gateway }) => {
            assign_listed(addresses, *prefix, *gateway, &mut graph.attachments)?;
        }
    }
    check_gateways(graph)
}

fn error(field: &str, value: String, allowed: String) -> SpecError {
    unsupported(format!("fabric.addresses.{field}"), value, allowed)
}

fn assign_macs(first: u64, attachments: &mut [Attachment]) -> Result<(), SpecError> {
    let last = first + attachments.len() as u64 - 1;
    let is_unicast = first & GROUP_BIT == 0 && last & GROUP_BIT == 0 && last >> 48 == 0;
    if !is_unicast || first >> 32 == SWITCH_MACS || last >> 32 == SWITCH_MACS {
        let addresses = format!("{}, and {} more", mac_text(first), attachments.len() - 1);
        let allowed = "unicast addresses other than 02:01:xx:xx:xx:xx, which switch ports have".into();
        return Err(error("mac", addresses, allowed));
    }
    for (mac, attachment) in (first..).zip(attachments) {
        let [_, _, bytes @ ..] = mac.to_be_bytes();
        attachment.mac = bytes;
    }
    Ok(())
}

fn mac_text(mac: u64) -> String {
    let [_, _, bytes @ ..] = mac.to_be_bytes();
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

/// A subnet: network address and prefix length.
#[derive(Clone, Copy)]
struct Subnet {
    network: u32,
    prefix: u8,
}

impl Subnet {
    const fn size(self) -> u64 {
        1 << (32 - self.prefix)
    }

    /// First and last address for hosts and gateways: all addresses of a point-to-point link (RFC 3021),
    /// otherwise all except the network and broadcast addresses.
    const fn usable(self) -> (u64, u64) {
        let (first, last) = (self.network as u64, self.network as u64 + self.size() - 1);
        if self.prefix == 31 { (first, last) } else { (first + 1, last - 1) }
    }

    fn gateway(self, at: GatewaySpec) -> u64 {
        let (first, last) = self.usable();
        match at {
            GatewaySpec::First => first,
            GatewaySpec::Last => last,
        }
    }
}

/// Consecutive subnets, assigned to groups of host ports.
struct Subnets {
    network: Ipv4Addr,
    prefix: u8,
    each: SubnetOf,
    gateway: Option<GatewaySpec>,
}

impl Subnets {
    fn assign(&self, attachments: &mut [Attachment]) -> Result<(), SpecError> {
        let groups = self.groups(attachments);
        self.check(&groups)?;
        let mut used: HashMap<usize, u64> = HashMap::new();
        for (group, attachment) in groups.into_iter().zip(attachments) {
            let subnet = self.subnet(group as u64);
            let offset = used.entry(group).or_default();
            let first = subnet.usable().0 + u64::from(self.gateway == Some(GatewaySpec::First));
            attachment.ip = Ipv4Addr::from_bits((first + *offset) as u32);
            attachment.prefix = self.prefix;
            attachment.gateway = self.gateway.map(|at| Ipv4Addr::from_bits(subnet.gateway(at) as u32));
            *offset += 1;
        }
        Ok(())
    }

    fn subnet(&self, number: u64) -> Subnet {
        let first = Subnet { network: self.network.to_bits(), prefix: self.prefix };
        Subnet { network: first.network + (number * first.size()) as u32, ..first }
    }

    /// Subnet number of each host port.
    fn groups(&self, attachments: &[Attachment]) -> Vec<usize> {
        match self.each {
            SubnetOf::Port => attachments.iter().map(|port| usize::from(port.host_port)).collect(),
            SubnetOf::Link => (0..attachments.len()).collect(),
            SubnetOf::Switch => {
                let switches: BTreeSet<_> = attachments.iter().map(|port| port.switch).collect();
                let numbers: HashMap<_, _> = switches.into_iter().zip(0..).collect();
                attachments.iter().map(|port| numbers[&port.switch]).collect()
            }
        }
    }

    fn check(&self, groups: &[usize]) -> Result<(), SpecError> {
        let subnet = format!("{}/{}", self.network, self.prefix);
        let first = Subnet { network: self.network.to_bits(), prefix: self.prefix };
        if u64::from(first.network) % first.size() != 0 {
            return Err(error("subnet", subnet, "the address of a network".into()));
        }
        let mut sizes: HashMap<usize, u64> = HashMap::new();
        groups.iter().for_each(|&group| *sizes.entry(group).or_default() += 1);
        let largest = sizes.values().copied().max().unwrap_or(0);
        let (least, most) = first.usable();
        let room = most + 1 - least - u64::from(self.gateway.is_some());
        if room < largest {
            let allowed = format!("subnets with room for {largest} host ports: this one has {room}");
            return Err(error("subnet", subnet, allowed));
        }
        let count = groups.iter().copied().max().map_or(0, |group| group as u64 + 1);
        let end = u64::from(first.network) + count * first.size() - 1;
        let is_reserved = |&(from, to): &(Ipv4Addr, Ipv4Addr)| {
            u64::from(from.to_bits()) <= end && to.to_bits() >= first.network
        };
        if RESERVED.iter().any(is_reserved) {
            let subnet = if count == 1 { subnet } else { format!("{subnet} and {} more", count - 1) };
            return Err(error("subnet", subnet, unicast()));
        }
        Ok(())
    }
}

fn unicast() -> String {
    "unicast addresses, none of 0.0.0.0/8, 127.0.0.0/8 and 169.254.0.0/16".into()
}

fn assign_listed(
    addresses: &[Ipv4Addr],
    prefix: u8,
    gateway: Option<GatewaySpec>,
    attachments: &mut [Attachment],
) -> Result<(), SpecError> {
    if addresses.len() != attachments.len() {
        let allowed = format!("{}: one for each host port, by (port number, host)", attachments.len());
        return Err(error("ips", format!("{} addresses", addresses.len()), allowed));
    }
    let mut used = HashSet::new();
    for (index, (&ip, attachment)) in addresses.iter().zip(attachments).enumerate() {
        attachment.ip = ip;
        attachment.prefix = prefix;
        let subnet = Subnet { network: attachment.network().to_bits(), prefix };
        let gateway = gateway.map(|at| Ipv4Addr::from_bits(subnet.gateway(at) as u32));
        attachment.gateway = gateway;
        let refuse = |allowed| Err(error(&format!("ips[{index}]"), ip.to_string(), allowed));
        let (first, last) = subnet.usable();
        if RESERVED.iter().any(|(from, to)| (from..=to).contains(&&ip)) {
            return refuse(unicast());
        } else if !(first..=last).contains(&ip.to_bits().into()) {
            return refuse(format!("no address of a network or broadcast of prefix {prefix}"));
        } else if gateway == Some(ip) {
            return refuse("another one: it is the gateway of its subnet".into());
        } else if !used.insert(ip) {
            return refuse("an address that no other host port has".into());
        }
    }
    Ok(())
}

/// Checks that host ports that communicate share a subnet or have gateways. Ports with the same number
/// communicate: those of a plane, or of a scale-up switch.
fn check_gateways(graph: &Graph) -> Result<(), SpecError> {
    let mut networks: HashMap<u16, Ipv4Addr> = HashMap::new();
    for port in &graph.attachments {
        let first = *networks.entry(port.host_port).or_insert_with(|| port.network());
        if port.gateway.is_none() && port.network() != first {
            let networks = format!("none, with {first}/{0} and {1}/{0}", port.prefix, port.network());
            let allowed = "first or last, so that frames leave their subnet, or one subnet".into();
            return Err(error("gateway", networks, allowed));
        }
    }
    Ok(())
}
