use std::fmt;

/// An address as a log may show it: enough to recognise it by, too little to use it.
pub(crate) struct Masked<'a>(pub(crate) &'a str);

impl fmt::Display for Masked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((scheme, rest)) = self.0.split_once("://") {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            return write!(f, "{scheme}://{host}/***");
        }
        // A chat handle begins with the sign, and what follows is all of it.
        if let Some((name, domain)) = self.0.rsplit_once('@')
            && let Some(first) = name.chars().next()
        {
            return write!(f, "{first}***@{domain}");
        }
        let hidden = self.0.chars().count().saturating_sub(2);
        let end: String = self.0.chars().skip(hidden).collect();
        if hidden < 4 { f.write_str("***") } else { write!(f, "***{end}") }
    }
}

/// The key of a recipient as a log may show it: one that is made of addresses has each of them masked.
pub(crate) struct MaskedKey<'a>(pub(crate) &'a str);

impl fmt::Display for MaskedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(addresses) = self.0.strip_prefix("direct:") else { return f.write_str(self.0) };
        let masked: Vec<String> = addresses.split('|').map(mask_unless_empty).collect();
        write!(f, "direct:{}", masked.join("|"))
    }
}

fn mask_unless_empty(address: &str) -> String {
    if address.is_empty() { String::new() } else { Masked(address).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_can_be_recognised_and_not_used() {
        let masked = |address| Masked(address).to_string();
        assert_eq!(masked("ann@example.com"), "a***@example.com");
        assert_eq!(masked("+4915112345"), "***45");
        assert_eq!(masked("abc"), "***");
        assert_eq!(
            masked("https://u:p@hooks.example.com:8443/T0/secret?k=1"),
            "https://hooks.example.com:8443/***"
        );
        assert_eq!(masked(""), "***");
        assert_eq!(masked("@jane"), "***");
        assert_eq!(masked("@jane.doe"), "***oe");
    }

    #[test]
    fn a_key_made_of_addresses_is_masked_and_a_users_is_not() {
        assert_eq!(MaskedKey("user:u-1").to_string(), "user:u-1");
        assert_eq!(
            MaskedKey("direct:ann@example.com|+4915112345|||").to_string(),
            "direct:a***@example.com|***45|||"
        );
    }
}
