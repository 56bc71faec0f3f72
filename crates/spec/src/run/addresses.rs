//! Parameters of a run spec: addresses of host ports (IPv4, MAC, VLAN, gateways) and DSCP code points of
//! packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Largest MAC address, as a number.
const MAC_MAX: u64 = (1 << 48) - 1;

/// Configured addresses of host ports. The IPv4 addresses are hashed by ECMP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressSpec {
    /// IPv4 addresses; those of the topology when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<Ipv4Spec>,
    /// MAC address of the first host port, incremented for each further port; those of the topology when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAC_MAX))]
    pub mac_first: Option<u64>,
    /// VLAN tag of all data frames, TCP included; none when absent. IEEE 802.1Q-2022, 9.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_094))]
    pub vlan: Option<u16>,
}

/// IPv4 addresses of host ports, ordered by (port number, host).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ipv4Spec {
    /// Consecutive subnets of one prefix length.
    Subnets {
        /// Network address of the first.
        network: Ipv4Addr,
        /// Prefix length.
        #[schemars(range(min = 8, max = 31))]
        prefix: u8,
        /// Host ports that share a subnet.
        each: SubnetOf,
        /// Address of the gateway in each subnet.
        gateway: Option<GatewaySpec>,
    },
    /// One address for each host port.
    Listed {
        /// The addresses.
        addresses: Vec<Ipv4Addr>,
        /// Prefix length of all.
        #[schemars(range(min = 8, max = 31))]
        prefix: u8,
        /// Address of the gateway in each subnet.
        gateway: Option<GatewaySpec>,
    },
}

/// Host ports that share a subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SubnetOf {
    /// Ports with the same number: all hosts if they have one port, else one plane of hosts.
    Port,
    /// Ports attached to the same switch: a leaf or a rail.
    Switch,
    /// A single port with its gateway, as on point-to-point links.
    Link,
}

/// Address of a gateway in its subnet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GatewaySpec {
    /// The first host address of the subnet.
    First,
    /// The last host address of the subnet.
    Last,
}

/// Differentiated services code point of each kind of packet (RFC 2474), 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DscpSpec {
    /// Payload and requests.
    #[schemars(range(max = 63))]
    pub data: u8,
    /// ACK and NAK.
    #[schemars(range(max = 63))]
    pub ack: u8,
    /// CNP.
    #[schemars(range(max = 63))]
    pub cnp: u8,
}

impl Default for DscpSpec {
    /// AF31 for data and CS6 for ACK, NAK and CNP: the usual defaults of RoCE NICs.
    fn default() -> Self {
        Self { data: 26, ack: 48, cnp: 48 }
    }
}
