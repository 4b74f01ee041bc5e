//! How many connections there may be: in all, and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The connections of each address that has any.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    per_address_max: usize,
}

/// One connection among those of its address, until it is dropped.
#[derive(Debug)]
pub(crate) struct Connected {
    connections: Connections,
    address: IpAddr,
}

impl Connections {
    pub(crate) fn new(per_address_max: usize) -> Self {
        Connections {
            by_address: Arc::default(),
            per_address_max,
        }
    }

    /// A place among those of the address; none, where it has as many as it may.
    pub(crate) fn admit_peer(&self, peer: IpAddr) -> Option<Connected> {
        let address = counted_as(peer);
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let open = by_address.entry(address).or_default();
        if *open >= self.per_address_max {
            return None;
        }
        *open += 1;
        Some(Connected {
            connections: self.clone(),
            address,
        })
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut by_address = self
            .connections
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = by_address.get_mut(&self.address) {
            *open -= 1;
            // Removed, so that the map has addresses that are connected and no others.
            if *open == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

/// Whose connections and requests count together: of IPv6 the network of 64 bits, since a host has all of it.
pub(crate) fn counted_as(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            // By the first half of the address: one client may have all of the rest.
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    #[test]
    fn an_address_has_as_many_as_it_may_and_others_have_theirs() {
        let connections = Connections::new(2);
        let (here, there): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let first = connections.admit_peer(here).unwrap();
        let _second = connections.admit_peer(here).unwrap();
        assert!(connections.admit_peer(here).is_none());
        assert!(connections.admit_peer("::ffff:10.0.0.1".parse().unwrap()).is_none());
        assert!(connections.admit_peer(there).is_some());
        drop(first);
        assert!(connections.admit_peer(here).is_some());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        let connections = Connections::new(1);
        let _one = connections.admit_peer("2001:db8:0:1::1".parse().unwrap()).unwrap();
        assert!(
            connections
                .admit_peer("2001:db8:0:1:ffff::2".parse().unwrap())
                .is_none()
        );
        assert!(connections.admit_peer("2001:db8:0:2::1".parse().unwrap()).is_some());
    }

    #[test]
    fn nothing_is_kept_of_who_has_gone() {
        let connections = Connections::new(1);
        drop(connections.admit_peer("10.0.0.1".parse().unwrap()));
        assert!(connections.by_address.lock().unwrap().is_empty());
    }
}
