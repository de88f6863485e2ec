use std::{fmt, net::IpAddr, str::FromStr};

use crate::Invalid;

/// A network of IP addresses, written as `10.0.0.0/8`, `fd00::/8`, or as one address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of an address; refuses a prefix that is longer than an address.
    pub fn new(base: IpAddr, prefix: u8) -> Result<Self, Invalid> {
        let bits = bits(base);
        if u32::from(prefix) > bits {
            return Err(malformed(format!("the prefix of {base} is /{prefix}; use /0 to /{bits}")));
        }
        Ok(Self { base, prefix })
    }

    /// Whether the address lies in it. An IPv4 address lies in no network of IPv6.
    pub fn contains(&self, address: IpAddr) -> bool {
        let outside = bits(self.base) - u32::from(self.prefix);
        let head = |number: u128| number.checked_shr(outside).unwrap_or(0);
        self.base.is_ipv4() == address.is_ipv4() && head(number(self.base)) == head(number(address))
    }

    /// Whether it is a single address.
    pub fn is_one_address(&self) -> bool {
        u32::from(self.prefix) == bits(self.base)
    }
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { u32::BITS } else { u128::BITS }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn malformed(why: String) -> Invalid {
    Invalid::Malformed { what: "network", why }
}

impl FromStr for Network {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let form = || malformed(format!("{text:?}; write it like 10.0.0.0/8, fd00::/8 or 192.168.1.7"));
        let (base, prefix) = match text.trim().split_once('/') {
            Some((base, prefix)) => (base, Some(prefix)),
            None => (text.trim(), None),
        };
        let base: IpAddr = base.parse().map_err(|_| form())?;
        let whole = u8::try_from(bits(base)).map_err(|_| form())?;
        Self::new(base, prefix.map_or(Ok(whole), |prefix| prefix.parse().map_err(|_| form()))?)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_network_holds_the_addresses_that_begin_like_it() {
        let network: Network = "172.16.0.0/12".parse().unwrap();
        let holds = |text: &str| network.contains(text.parse().unwrap());
        assert!(holds("172.16.0.0") && holds("172.31.255.255"));
        assert!(!holds("172.15.255.255") && !holds("172.32.0.0") && !holds("::ffff:172.16.0.1"));
        let everything: Network = "0.0.0.0/0".parse().unwrap();
        assert!(everything.contains("255.255.255.255".parse().unwrap()));
        let one: Network = " fd00::7 ".parse().unwrap();
        assert!(one.is_one_address() && one.contains("fd00::7".parse().unwrap()));
        for wrong in ["", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "ten", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_network_is_read_as_it_is_written(base in any::<IpAddr>(), prefix in 0_u8..=32) {
            let network = Network::new(base, prefix).unwrap();
            prop_assert!(network.contains(base));
            prop_assert_eq!(network.to_string().parse::<Network>(), Ok(network));
        }
    }
}
