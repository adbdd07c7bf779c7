//! Addresses of one's own: each cluster has a network of the loopback device to itself, 127.84.N.1 and up.
//!
//! So every node has the usual port, also after it was killed and started again, and no two processes can
//! meet. Whoever holds the claim of a network has it, and the claim ends with the process.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// The port of the first address that nobody uses otherwise; to listen there is to have the network.
const CLAIM: u16 = 8473;

#[derive(Debug)]
pub struct LoopbackNetwork {
    number: u8,
    _claim: TcpListener,
}

impl LoopbackNetwork {
    /// The first network that is free.
    pub fn claim() -> Result<Self> {
        let mut free = (1..=254).filter_map(|number| {
            let claim = TcpListener::bind((loopback_address(number, 0), CLAIM)).ok()?;
            Some(Self { number, _claim: claim })
        });
        free.next().context("none of the networks 127.84.1 to 127.84.254 is free")
    }

    /// The address of a node, counted from 0.
    pub fn host(&self, node: usize) -> String {
        loopback_address(self.number, u8::try_from(node).unwrap_or(u8::MAX)).to_string()
    }

    /// The usual port, or if somebody has it on all addresses, a free one. It is the same for all nodes.
    pub fn port(&self, usual: u16) -> Result<u16> {
        let host = loopback_address(self.number, 0);
        let listener = TcpListener::bind((host, usual)).or_else(|_| TcpListener::bind((host, 0)))?;
        Ok(listener.local_addr()?.port())
    }
}

fn loopback_address(number: u8, node: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 84, number, node.saturating_add(1))
}
