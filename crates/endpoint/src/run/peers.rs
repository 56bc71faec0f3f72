//! Connection data (such as addresses) of all hosts of a run, which drivers exchange as JSON through the
//! controller: decoding, and lookup by host.

use super::RunError;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Connection data by host.
pub(super) struct Peers<A>(BTreeMap<u32, A>);

impl<A: DeserializeOwned> Peers<A> {
    /// Decodes the data of each host from JSON.
    pub(super) fn read(peers: &BTreeMap<u32, Vec<u8>>) -> Result<Self, RunError> {
        let read = |(&host, bytes): (&u32, &Vec<u8>)| match serde_json::from_slice(bytes) {
            Ok(address) => Ok((host, address)),
            Err(error) => Err(RunError::Host { host, why: format!("its address is invalid: {error}") }),
        };
        Ok(Self(peers.iter().map(read).collect::<Result<_, _>>()?))
    }

    pub(super) fn of(&self, host: u32) -> Result<&A, RunError> {
        self.0.get(&host).ok_or_else(|| RunError::Host { host, why: "its address is missing".into() })
    }
}
