use std::{io, sync::Arc};

use claimstream_domain::notification::{AddressRule, RefusedAddress};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

/// Resolves names as the system does, and leaves out the addresses that a rule refuses.
///
/// The client connects to what it is answered here and asks no other resolver, so a name that leads elsewhere a moment later gains
/// nothing. It does not ask for a host that is an address already; that is the client's to judge.
pub(super) struct LimitedResolver(pub(super) Arc<AddressRule>);

impl Resolve for LimitedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let rule = Arc::clone(&self.0);
        Box::pin(async move {
            let (mut allowed, mut refused): (Vec<_>, Option<RefusedAddress>) = (Vec::new(), None);
            for address in lookup_host((name.as_str(), 0)).await? {
                match rule.judge(address.ip()) {
                    Ok(()) => allowed.push(address),
                    Err(why) => refused = refused.or(Some(why)),
                }
            }
            match refused {
                Some(why) if allowed.is_empty() => Err(why.into()),
                _ if allowed.is_empty() => Err(io::Error::other("the name has no address").into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}
