//! Maximum sizes of a fabric, and the checks of a topology's parameters against them before anything is
//! allocated.

use crate::TopologyError;

/// Maximum hosts of a fabric: 2^18 = 262,144.
pub const MAX_HOSTS: u64 = 1 << 18;
/// Maximum host ports of a fabric: 2^20 = 1,048,576.
pub const MAX_ATTACHMENTS: u64 = 1 << 20;
/// Maximum links of a fabric: 2^22 = 4,194,304.
pub const MAX_LINKS: u64 = 1 << 22;
/// Maximum ports of a node: a port number and a number of ports each fit 16 bits.
pub const MAX_PORTS: u64 = u16::MAX as u64;
/// Maximum ports of a host: the IP address has five bits for the port number.
pub const MAX_HOST_PORTS: u16 = 32;

/// Checks that each `(field, value)` is at least 1.
pub(crate) fn positive(counts: &[(&'static str, u32)]) -> Result<(), TopologyError> {
    match counts.iter().find(|(_, count)| *count == 0) {
        None => Ok(()),
        Some(&(field, count)) => Err(TopologyError::TooFew { field, found: count, least: 1 }),
    }
}

/// Checks the number of hosts, and of ports with `ports_of_each` per host.
pub(crate) fn hosts(hosts: u64, ports_of_each: u32) -> Result<(), TopologyError> {
    at_most("hosts", hosts, MAX_HOSTS)?;
    let (ports, limit) = (u64::from(ports_of_each), u64::from(MAX_HOST_PORTS));
    if ports > limit {
        return Err(TopologyError::TooManyPorts { node: "host", ports, limit });
    }
    at_most("host ports", hosts * ports, MAX_ATTACHMENTS)
}

pub(crate) fn ports(node: &'static str, ports: u64) -> Result<(), TopologyError> {
    let limit = MAX_PORTS;
    if ports > limit { Err(TopologyError::TooManyPorts { node, ports, limit }) } else { Ok(()) }
}

pub(crate) fn links(links: u64) -> Result<(), TopologyError> {
    at_most("links", links, MAX_LINKS)
}

fn at_most(items: &'static str, count: u64, limit: u64) -> Result<(), TopologyError> {
    if count > limit { Err(TopologyError::TooMany { items, count, limit }) } else { Ok(()) }
}

/// Product of `counts`, saturating.
pub(crate) fn product(counts: &[u32]) -> u64 {
    counts.iter().fold(1, |product: u64, &count| product.saturating_mul(u64::from(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed_and_one_more_is_not() {
        assert!(hosts(MAX_HOSTS, 4).is_ok() && hosts(MAX_HOSTS + 1, 1).is_err());
        assert!(hosts(MAX_HOSTS, 5).is_err() && hosts(1, 32).is_ok() && hosts(1, 33).is_err());
        assert!(ports("leaf", MAX_PORTS).is_ok() && ports("leaf", MAX_PORTS + 1).is_err());
        assert!(links(MAX_LINKS).is_ok() && links(MAX_LINKS + 1).is_err());
    }

    #[test]
    fn an_error_names_the_first_count_that_is_zero() {
        let found = positive(&[("pods", 2), ("leaves", 0), ("spines", 0)]);
        assert_eq!(found, Err(TopologyError::TooFew { field: "leaves", found: 0, least: 1 }));
    }

    #[test]
    fn a_product_saturates() {
        assert_eq!(product(&[2, 3, 7]), 42);
        assert_eq!(product(&[u32::MAX, u32::MAX, u32::MAX]), u64::MAX);
        // With a factor of zero the product is zero, whatever the others are.
        assert_eq!(product(&[u32::MAX, 0, u32::MAX]), 0);
    }
}
