use std::{collections::HashMap, time::Duration};

use claimstream_domain::Publication;

/// Publications in waves, by their indices: of each key one is in a wave, in the order of the call, and those without a key are in the
/// first.
///
/// A broker whose client may lose one message and send a later one after it has connected again keeps the order of a key only if
/// the next message of the key waits for the confirmation of the one before.
pub(crate) fn waves(publications: &[Publication]) -> Vec<Vec<usize>> {
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, publication) in publications.iter().enumerate() {
        let wave = publication.key.as_ref().map_or(0, |key| {
            let next = seen.entry(key.as_str()).or_default();
            *next += 1;
            *next - 1
        });
        if wave >= waves.len() {
            waves.resize_with(wave + 1, Vec::new);
        }
        if let Some(wave) = waves.get_mut(wave) {
            wave.push(index);
        }
    }
    waves
}

/// How long a call goes on to send waves. The waves of a slow broker may take longer than the caller waits, and a caller that gives up hears of
/// no confirmation.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);

/// What is said of messages that a call had no time to send.
pub(crate) const TOO_LATE: &str = "it was not sent, because those before it took too long";

#[cfg(test)]
mod tests {
    use claimstream_domain::{Headers, MessageId, OrderingKey, Payload};

    use super::*;

    fn keyed(keys: &[&str]) -> Vec<Publication> {
        let publication = |key: &&str| Publication {
            id: MessageId::new(Default::default()),
            place: "orders".into(),
            key: OrderingKey::new(key).ok(),
            attributes: Vec::new(),
            headers: Headers::new(),
            body: Payload::json("{}"),
        };
        keys.iter().map(publication).collect()
    }

    #[test]
    fn a_wave_has_one_message_of_each_key() {
        let waves_of = |keys: &[&str]| waves(&keyed(keys));
        assert_eq!(waves_of(&["a", "b", "a", "", "a", "b", ""]), [vec![0, 1, 3, 6], vec![2, 5], vec![4]]);
        assert_eq!(waves_of(&["", ""]), [vec![0, 1]]);
        assert!(waves_of(&[]).is_empty());
    }
}
