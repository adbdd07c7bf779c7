//! Addresses that a stranger has made up: where a browser says that its pushes go, anybody can write anything.
//!
//! Only https, and only addresses that all the world can reach. What a name leads to is looked up once, and the
//! connection goes to what was looked at, for a second answer could be another one.

pub mod hosts;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

pub use hosts::find_allowed;

/// Bytes of an address, at most.
const BYTES_MAX: usize = 2_048;

/// Networks of IPv4 that are not public, by the registry of IANA (RFC 6890), and how many of their bits count.
const V4_OF_ITS_OWN: [([u8; 4], u8); 17] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    // Behind a provider's translation.
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // The metadata of clouds is here.
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// All that is public of IPv6 lies in 2000::/3. So what is mapped, translated, local or `::` is out without a word.
const V6_PUBLIC: ([u16; 2], u8) = ([0x2000, 0], 3);

/// And within it these are not: protocols (Teredo among them), documentation, 6to4, documentation again.
const V6_OF_ITS_OWN: [([u16; 2], u8); 4] =
    [([0x2001, 0], 23), ([0x2001, 0x0db8], 32), ([0x2002, 0], 16), ([0x3fff, 0], 20)];

/// Who may be asked.
#[derive(Clone, Debug, Default)]
pub struct AddressGuard {
    /// Hosts that are asked wherever they are.
    allowed: Vec<String>,
}

impl AddressGuard {
    pub fn new(allowed: &[String]) -> Self {
        let plain = |host: &String| host.trim_matches(['[', ']']).to_ascii_lowercase();
        Self { allowed: allowed.iter().map(plain).collect() }
    }

    /// Reads an address, or says why nobody is asked there.
    pub fn parse_address(&self, text: &str) -> Result<Url, &'static str> {
        if text.len() > BYTES_MAX {
            return Err("its address is too long");
        }
        let url = Url::parse(text).map_err(|_| "it has no address")?;
        if url.scheme() != "https" {
            return Err("its address is not https");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its address has a user in it");
        }
        let address: IpAddr = match url.host().ok_or("its address names no host")? {
            Host::Domain(_) => return Ok(url),
            Host::Ipv4(address) => address.into(),
            Host::Ipv6(address) => address.into(),
        };
        if is_public(address) || self.allows(&address.to_string()) {
            return Ok(url);
        }
        Err(NOT_PUBLIC)
    }

    /// Of what a name leads to, what may be asked.
    pub fn keep_public(&self, host: &str, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, &'static str> {
        if self.allows(host) {
            return Ok(found.to_vec());
        }
        let good: Vec<_> = found.iter().copied().filter(|address| is_public(address.ip())).collect();
        if good.is_empty() { Err(NOT_PUBLIC) } else { Ok(good) }
    }

    fn allows(&self, host: &str) -> bool {
        self.allowed.iter().any(|allowed| *allowed == host.to_ascii_lowercase())
    }
}

const NOT_PUBLIC: &str = "its address is not a public one";

/// Whether all the world can reach it, and it is nobody in particular.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !V4_OF_ITS_OWN.iter().any(|network| is_in_v4(address, *network)),
        IpAddr::V6(address) => {
            is_in_v6(address, V6_PUBLIC) && !V6_OF_ITS_OWN.iter().any(|network| is_in_v6(address, *network))
        }
    }
}

fn is_in_v4(address: Ipv4Addr, (network, bits): ([u8; 4], u8)) -> bool {
    (address.to_bits() ^ u32::from_be_bytes(network)).leading_zeros() >= u32::from(bits)
}

fn is_in_v6(address: Ipv6Addr, ([first, second], bits): ([u16; 2], u8)) -> bool {
    let network = Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0);
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_asked() {
        let check = |public: bool, addresses: &str| {
            for text in addresses.split_whitespace() {
                let address: IpAddr = text.parse().unwrap();
                assert_eq!(is_public(address), public, "{text}");
                let found = [SocketAddr::new(address, 443)];
                assert_eq!(
                    AddressGuard::default().keep_public("push.example", &found).is_ok(),
                    public,
                    "{text}"
                );
                let url = if text.contains(':') {
                    format!("https://[{text}]/")
                } else {
                    format!("https://{text}/")
                };
                assert_eq!(AddressGuard::default().parse_address(&url).is_ok(), public, "{url}");
            }
        };
        check(
            true,
            "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
        );
        check(true, "142.250.185.170 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255");
        check(true, "192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255");
        check(
            true,
            "2606:4700:4700::1111 2a00:1450:4001:80b::200a 2001:4860:4860::8888 2001:200:: 2003:: 3ffe::1",
        );
        check(
            false,
            "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.84.3.1",
        );
        check(false, "169.254.169.254 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1");
        check(false, "192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.7");
        check(false, "203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255");
        check(
            false,
            ":: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::ffff:169.254.169.254",
        );
        check(false, "64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1");
        check(
            false,
            "2001:0:53aa:64c::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a00:1:: 3fff::1",
        );
        check(
            false,
            "5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1 4000::1 1fff::1",
        );
    }

    #[test]
    fn an_address_that_hides_what_it_is_is_seen_through() {
        let guard =
            AddressGuard::new(&["push.here".to_owned(), "10.1.2.3".to_owned(), "[FD00::7]".to_owned()]);
        let check = |url: &str, expected: &str| {
            assert_eq!(guard.parse_address(url).err().unwrap_or_default(), expected, "{url}");
        };
        check("https://push.example/send/abc", "");
        check("https://push.example:8443/send/abc?x=y", "");
        check("https://10.1.2.3/up", "");
        check("https://[fd00::7]/up", "");
        check("https://push.here/up", "");
        check("http://push.here/up", "its address is not https");
        check("http://push.example/send", "its address is not https");
        check("file:///etc/passwd", "its address is not https");
        check("gopher://127.0.0.1/", "its address is not https");
        check("https://push.example@127.0.0.1/", "its address has a user in it");
        check("https://:pass@push.example/", "its address has a user in it");
        check("push.example/send", "it has no address");
        check("", "it has no address");
        check("https://", "it has no address");
        for hidden in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "0",
            "10.1.2.4",
            "169.254.169.254",
            "%31%32%37.0.0.1",
            "127。0。0。1",
            "[::]",
            "[::ffff:7f00:1]",
            "[fd00::8]",
        ] {
            check(&format!("https://{hidden}/x"), NOT_PUBLIC);
        }
        check(&format!("https://push.example/{}", "x".repeat(3_000)), "its address is too long");
    }

    #[test]
    fn of_what_a_name_leads_to_only_the_public_is_asked() {
        let guard = AddressGuard::new(&["push.here".to_owned()]);
        let at = |addresses: &[&str]| -> Vec<SocketAddr> {
            addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 443)).collect()
        };
        let check = |host: &str, found: &[&str], good: &[&str]| {
            assert_eq!(guard.keep_public(host, &at(found)).unwrap_or_default(), at(good), "{host} {found:?}");
        };
        check("push.example", &["1.1.1.1", "10.0.0.1", "::1"], &["1.1.1.1"]);
        check("push.example", &["10.0.0.1", "::1"], &[]);
        check("push.example", &[], &[]);
        check("push.here", &["10.0.0.1"], &["10.0.0.1"]);
        check("PUSH.here", &["10.0.0.1"], &["10.0.0.1"]);
        check("push.here.example", &["10.0.0.1"], &[]);
        check("apush.here", &["10.0.0.1"], &[]);
    }
}
