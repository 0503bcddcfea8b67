//! The address of this machine that pilots are told to call: one that the nodes of the cluster can reach.

use super::slurm_client::say;
use slackline_model::Platform;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

/// Time that a command gets.
const PATIENCE: Duration = Duration::from_secs(10);

/// Nodes whose addresses are looked up: all are in one network, as a rule.
const NODES: usize = 8;

/// An address that pilots call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The address.
    pub address: IpAddr,
    /// Reason why pilots on other machines may not reach it.
    pub warning: Option<String>,
}

/// The address that pilots call. If none is `given`, or one that stands for all of this machine, it is
/// the one from which this machine sends to the nodes; else that of its name, else that of its way to other
/// networks.
pub fn address(platform: &Platform, given: Option<IpAddr>) -> Found {
    let nodes = node_addresses(platform);
    let named = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        let found = (name.trim(), 0).to_socket_addrs().ok()?;
        let mut found = found.map(|address| address.ip());
        found.find(|address| !address.is_loopback())
    };
    let address = given
        .filter(|address| !address.is_unspecified())
        .or_else(|| {
            let mut ways = nodes.iter().filter_map(|node| way_to(*node)).collect::<Vec<_>>();
            // Nodes may be this machine itself; one that is not decides.
            ways.sort_by_key(IpAddr::is_loopback);
            ways.first().copied()
        })
        .or_else(named)
        .or_else(|| way_to(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)))) // an address for examples
        .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    Found { address, warning: warning(address, &nodes) }
}

/// Warning about an address for nodes at these addresses.
fn warning(address: IpAddr, nodes: &[IpAddr]) -> Option<String> {
    let here = !nodes.is_empty() && nodes.iter().all(IpAddr::is_loopback);
    (address.is_loopback() && !here).then(|| {
        format!(
            "pilots are told to call {address}, which no other machine can reach: --listen ADDRESS names \
             an address of this machine in the network of the nodes"
        )
    })
}

/// Addresses of nodes of the platform, as far as Slurm and the system know them.
fn node_addresses(platform: &Platform) -> Vec<IpAddr> {
    let words = ["--noheader", "--Node", "--format=%N|%o"];
    let listing = say("sinfo", &words, "", PATIENCE).unwrap_or_default();
    let listed = listing.lines().filter_map(|line| {
        let (name, address) = line.trim().split_once('|')?;
        (!address.is_empty() && !address.contains('|')).then_some((name, address))
    });
    let listed: BTreeMap<&str, &str> = listed.collect();
    let hosts = platform.hosts().iter().filter(|host| host.cores > 0);
    let found = hosts.filter_map(|host| listed.get(&*host.name)).take(NODES);
    found.filter_map(|node| Some((*node, 0).to_socket_addrs().ok()?.next()?.ip())).collect()
}

/// The address from which this machine would send to another; nothing is sent.
fn way_to(other: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match other {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((other, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_of_this_machine_reach_a_loopback_address() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap_or_else(|e| panic!("{text}: {e}"));
        let (own, other) = (ip("127.0.1.1"), ip("10.0.0.7"));
        assert!(warning(own, &[]).is_some_and(|said| said.contains("127.0.1.1")));
        assert!(warning(own, &[own, other]).is_some());
        assert!(warning(ip("::1"), &[other]).is_some());
        assert_eq!(warning(own, &[own]), None);
        assert_eq!(warning(other, &[]), None);
        assert_eq!(way_to(ip("127.0.0.1")), Some(ip("127.0.0.1")));
    }
}
