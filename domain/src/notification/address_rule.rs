use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use super::Network;
use crate::Invalid;

/// Which addresses a request may connect to whose URL came from outside, such as a recipient's own webhook.
///
/// It judges the address that a name was resolved to, not the name: a name in public hands may lead anywhere. Without more it allows
/// public addresses alone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AddressRule {
    /// Public addresses.
    #[default]
    Public,
    /// Also private networks: loopback, private, link-local and shared addresses, but not those of metadata services.
    Private,
    /// Public addresses, and those of these networks. The address of a metadata service has to be listed by itself.
    Networks(Vec<Network>),
}

/// An address that a rule refuses, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefusedAddress {
    /// The address.
    pub address: IpAddr,
    /// Of which kind it is.
    pub kind: AddressKind,
}

/// Kinds of addresses that are not public (RFC 6890 and the registries that it names).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressKind {
    /// The machine itself.
    Loopback,
    /// A private network.
    Private,
    /// The link, without a router between.
    LinkLocal,
    /// Shared by the customers of a carrier (CGNAT).
    Shared,
    /// Where clouds keep the credentials of their machines.
    Metadata,
    /// Many machines at once.
    Multicast,
    /// No machine.
    Unspecified,
    /// Set apart for documents, tests or later use.
    Reserved,
}

impl AddressRule {
    /// Says why nothing may connect to the address, if nothing may. An IPv6 address that carries an IPv4 address is judged by that.
    pub fn judge(&self, address: IpAddr) -> Result<(), RefusedAddress> {
        let Some(kind) = AddressKind::of(address) else { return Ok(()) };
        let inner = carried(address);
        let is_open = match self {
            Self::Public => false,
            Self::Private => kind.is_of_a_private_network(),
            Self::Networks(networks) => networks.iter().any(|network| {
                let holds = network.contains(address) || network.contains(inner);
                holds && (kind != AddressKind::Metadata || network.is_one_address())
            }),
        };
        if is_open { Ok(()) } else { Err(RefusedAddress { address, kind }) }
    }
}

impl AddressKind {
    /// Services of clouds that give credentials to whatever asks on the machine: AWS, Google, Azure, Alibaba, Oracle.
    const METADATA: [IpAddr; 9] = [
        IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
        IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
        IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
        IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
        IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
        IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    ];

    /// The kind of an address; none if it is public.
    pub fn of(address: IpAddr) -> Option<Self> {
        let address = carried(address);
        if Self::METADATA.contains(&address) {
            return Some(Self::Metadata);
        }
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => Self::of_v6(v6),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Option<Self> {
        match address.octets() {
            [0, ..] => Some(Self::Unspecified),
            [127, ..] => Some(Self::Loopback),
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Self::Private),
            [169, 254, ..] => Some(Self::LinkLocal),
            [100, 64..=127, ..] => Some(Self::Shared),
            [224..=239, ..] => Some(Self::Multicast),
            [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => Some(Self::Reserved),
            [198, 51, 100, _] | [203, 0, 113, _] | [240..=255, ..] => Some(Self::Reserved),
            _ => None,
        }
    }

    /// Of IPv6 only `2000::/3` is public, and not all of that.
    fn of_v6(address: Ipv6Addr) -> Option<Self> {
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Some(Self::Unspecified),
            [0, 0, 0, 0, 0, 0, 0, 1] => Some(Self::Loopback),
            [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Self::Private),
            [0xfe80..=0xfebf, ..] => Some(Self::LinkLocal),
            [0xff00..=0xffff, ..] => Some(Self::Multicast),
            // Behind a translator of the network's own stands whatever it translates to.
            [0x64, 0xff9b, 1, ..] => Some(Self::Private),
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some(Self::Reserved),
            [0x2000..=0x3fff, ..] => None,
            _ => Some(Self::Reserved),
        }
    }

    fn is_of_a_private_network(self) -> bool {
        matches!(self, Self::Loopback | Self::Private | Self::LinkLocal | Self::Shared)
    }

    fn phrase(self) -> &'static str {
        match self {
            Self::Loopback => "the machine itself",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Shared => "an address that a carrier's customers share",
            Self::Metadata => "the address of a metadata service",
            Self::Multicast => "a multicast address",
            Self::Unspecified => "no machine's address",
            Self::Reserved => "a reserved address",
        }
    }
}

/// The IPv4 address that an IPv6 address carries: mapped, compatible, translated (SIIT, NAT64) or of 6to4. Any other address is itself.
fn carried(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into();
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

impl fmt::Display for RefusedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.address, self.kind.phrase())
    }
}

impl std::error::Error for RefusedAddress {}

/// `false`, `true`, or networks with commas between.
impl FromStr for AddressRule {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "false" => Ok(Self::Public),
            "true" => Ok(Self::Private),
            networks => networks.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::Networks),
        }
    }
}

impl fmt::Display for AddressRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("false"),
            Self::Private => f.write_str("true"),
            Self::Networks(networks) => {
                let networks: Vec<String> = networks.iter().map(Network::to_string).collect();
                f.write_str(&networks.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(text: &str) -> Option<AddressKind> {
        AddressKind::of(text.parse().unwrap())
    }

    #[test]
    fn an_address_that_is_not_public_has_a_kind() {
        use AddressKind::{LinkLocal, Loopback, Metadata, Multicast, Private, Reserved, Shared, Unspecified};
        for (texts, expected) in [
            (&["127.0.0.1", "127.255.0.1", "::1"][..], Loopback),
            (&["10.0.0.1", "172.16.0.1", "172.31.9.9", "192.168.0.1", "fc00::1", "fd12::1"], Private),
            (&["169.254.0.1", "fe80::1", "febf::1"], LinkLocal),
            (&["100.64.0.1", "100.127.255.255"], Shared),
            (&["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"], Metadata),
            (&["fd00:ec2::254", "192.0.0.192", "::ffff:169.254.169.254"], Metadata),
            (&["169.254.170.23", "fd00:ec2::23", "fd20:ce::254"], Metadata),
            (&["224.0.0.1", "239.255.255.255", "ff02::1"], Multicast),
            (&["0.0.0.0", "0.1.2.3", "::"], Unspecified),
            (&["192.0.2.1", "198.18.0.1", "203.0.113.9", "255.255.255.255", "240.0.0.1"], Reserved),
            (&["2001:db8::1", "2001::1", "3fff::1", "100::1", "4000::1", "5f00::1"], Reserved),
        ] {
            for text in texts {
                assert_eq!(kind(text), Some(expected), "{text}");
            }
        }
        for text in ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"] {
            assert_eq!(kind(text), None, "{text}");
        }
    }

    #[test]
    fn private_networks_are_opened_and_metadata_services_only_by_name() {
        let judge = |rule: &str, address: &str| {
            rule.parse::<AddressRule>().unwrap().judge(address.parse().unwrap()).map_err(|e| e.kind)
        };
        for address in ["127.0.0.1", "10.1.2.3", "fe80::1", "100.64.0.1", "::ffff:10.0.0.1"] {
            assert!(judge("false", address).is_err(), "{address}");
            assert_eq!(judge("true", address), Ok(()), "{address}");
        }
        for address in ["169.254.169.254", "0.0.0.0", "224.0.0.1", "240.0.0.1", "64:ff9b::a9fe:a9fe"] {
            assert!(judge("true", address).is_err(), "{address}");
        }
        let some = "10.0.0.0/8, fd00::/8";
        assert_eq!(judge(some, "10.1.2.3").and(judge(some, "8.8.8.8")), Ok(()));
        assert_eq!(judge(some, "::ffff:10.1.2.3"), Ok(()));
        assert_eq!(judge(some, "192.168.0.1"), Err(AddressKind::Private));
        assert_eq!(judge(some, "fd00:ec2::254"), Err(AddressKind::Metadata));
        assert_eq!(judge("fd00:ec2::254", "fd00:ec2::254"), Ok(()));
        let refused = AddressRule::Public.judge("10.0.0.1".parse().unwrap()).unwrap_err();
        assert_eq!(refused.to_string(), "10.0.0.1 is a private address");
        assert!("yes".parse::<AddressRule>().is_err() && "".parse::<AddressRule>().is_err());
        assert_eq!(some.parse::<AddressRule>().unwrap().to_string(), some);
    }

    proptest! {
        #[test]
        fn no_spelling_of_an_address_passes_where_the_address_does_not(bits in any::<u32>(), rest in any::<u64>()) {
            let v4 = Ipv4Addr::from_bits(bits);
            let low = u128::from(bits);
            let spelled = [
                0xffff_u128 << 32 | low,
                0xffff_u128 << 48 | low,
                0x64_ff9b_u128 << 96 | low,
                0x2002_u128 << 112 | low << 80 | u128::from(rest),
            ];
            for spelled in spelled {
                let spelled = IpAddr::V6(Ipv6Addr::from_bits(spelled));
                prop_assert_eq!(AddressKind::of(spelled), AddressKind::of(v4.into()), "{}", spelled);
                for rule in [AddressRule::Public, AddressRule::Private] {
                    prop_assert_eq!(rule.judge(spelled).is_ok(), rule.judge(v4.into()).is_ok());
                }
            }
        }

        #[test]
        fn the_standard_library_knows_no_private_address_that_passes(address in any::<IpAddr>(), bits in any::<u32>()) {
            for address in [address, IpAddr::V4(Ipv4Addr::from_bits(bits))] {
                let is_known = match address {
                    IpAddr::V4(v4) => {
                        v4.is_private() || v4.is_link_local() || v4.is_broadcast() || v4.is_documentation()
                    }
                    IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
                };
                let is_known =
                    is_known || address.is_loopback() || address.is_multicast() || address.is_unspecified();
                prop_assert!(!is_known || AddressRule::Public.judge(address).is_err(), "{}", address);
            }
        }

        #[test]
        fn opening_more_refuses_nothing_that_passed(address in any::<IpAddr>(), prefix in 0_u8..=32) {
            let networks = AddressRule::Networks(vec![Network::new(address, prefix).unwrap()]);
            for wider in [AddressRule::Private, networks] {
                prop_assert!(AddressRule::Public.judge(address).is_err() || wider.judge(address).is_ok());
            }
        }
    }
}
