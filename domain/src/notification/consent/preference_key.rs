use super::Address;
use crate::{
    Invalid,
    notification::{Channel, DIRECT, addresses_of},
};

/// The key of a recipient's preferences, for what is sent to it at an address.
///
/// A recipient of the directory has one for all channels. One given by address has one for each address: the same person comes with
/// other addresses in the next request, and what it opted out of still holds.
pub fn preference_key(recipient: &str, address: &Address) -> String {
    match recipient.starts_with(DIRECT) {
        true => address_key(address),
        false => recipient.to_owned(),
    }
}

/// The key of the preferences of an address that come with no user.
pub fn address_key(address: &Address) -> String {
    format!("{}:{}", address.channel(), address.as_str())
}

/// The key of the preferences that an operator means by `text`: a recipient's key, or an address written like
/// `email:Ann@example.com`.
///
/// It fails for the key of a recipient given by several addresses, because each of them has preferences of its own.
pub fn named_preference_key(text: &str) -> Result<String, Invalid> {
    if text.starts_with(DIRECT) {
        return match addresses_of(text, None).as_slice() {
            [only] => Ok(preference_key(text, only)),
            all => Err(Invalid::Malformed { what: "the recipient", why: names_one_of(all) }),
        };
    }
    match address_named(text) {
        Some(address) if address.as_str().is_empty() => Err(Invalid::Empty { what: "the address" }),
        Some(address) => Ok(address_key(&address)),
        None => Ok(text.to_owned()),
    }
}

/// The address that `text` names, if it begins with a channel that has addresses, such as `email:ann@example.com`.
pub fn address_named(text: &str) -> Option<Address> {
    parts(text).map(|(channel, address)| Address::new(channel, address))
}

/// The same address in each spelling that rows may be kept under; none if `text` names no address.
pub fn spellings_named(text: &str) -> Vec<Address> {
    let spellings = parts(text).map(|(channel, address)| Address::spellings(channel, address));
    spellings.unwrap_or_default().into_iter().filter(|address| !address.as_str().is_empty()).collect()
}

fn parts(text: &str) -> Option<(Channel, &str)> {
    let (channel, address) = text.split_once(':')?;
    let channel = Channel::ALL.into_iter().find(|known| known.name() == channel)?;
    (channel != Channel::InApp).then_some((channel, address))
}

fn names_one_of(all: &[Address]) -> String {
    let keys: Vec<String> = all.iter().map(address_key).collect();
    let keys = if keys.is_empty() { "email:ann@example.com".to_owned() } else { keys.join(" or ") };
    format!("a person given by address has preferences for each address; name one, as {keys}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::notification::DirectRecipient;

    #[test]
    fn a_recipient_given_by_address_has_preferences_for_each_address() {
        let direct = DirectRecipient { email: Some("Ann@Example.com".into()), ..DirectRecipient::default() };
        let key = |recipient: &str, channel, text| preference_key(recipient, &Address::new(channel, text));
        let ann = direct.resolve().key;
        assert_eq!(key(&ann, Channel::Email, "Ann@Example.com"), "email:ann@example.com");
        assert_eq!(key(&ann, Channel::Sms, "+49 1"), "sms:+491");
        assert_eq!(key("user:a", Channel::Push, "token"), "user:a");
    }

    proptest! {
        #[test]
        fn an_address_is_named_as_a_fan_out_looks_it_up(at in 0_usize..5, text in "[A-Za-z0-9+][A-Za-z0-9@. -]{0,12}") {
            let channels = [Channel::Email, Channel::Sms, Channel::Push, Channel::Webhook, Channel::Chat];
            let channel = channels[at];
            let mut parts = [""; 5];
            parts[at] = &text;
            let shown = format!("{DIRECT}{}", parts.join("|"));
            let asked = preference_key(&shown, &Address::new(channel, &text));
            prop_assert_eq!(named_preference_key(&format!("{channel}:{text}")), Ok(asked.clone()));
            prop_assert_eq!(named_preference_key(&shown), Ok(asked));
        }
    }

    #[test]
    fn a_name_that_means_no_recipient_is_refused_with_one_that_does() {
        let why = |text| named_preference_key(text).unwrap_err().to_string();
        assert_eq!(
            why("direct:Ann@example.com|+49 1|||"),
            "the recipient is not valid: a person given by address has preferences for each address; \
             name one, as email:ann@example.com or sms:+491"
        );
        assert!(why("direct:ann@example.com").ends_with("name one, as email:ann@example.com"));
        assert_eq!(why("email: "), "the address is empty");
        for taken in ["user:a", "u-1", "in_app:u-1", "mail:ann@example.com"] {
            assert_eq!(named_preference_key(taken).as_deref(), Ok(taken));
        }
    }
}
