use std::{fmt, str::FromStr};

use claimstream_domain::{QueueName, Shard};

/// A shard of a queue as operators write it: `orders/3`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ShardPlace {
    pub(crate) queue: QueueName,
    pub(crate) shard: Shard,
}

impl FromStr for ShardPlace {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = |(queue, shard): (&str, &str)| {
            let shard = shard.parse().ok().map(Shard::from_number)?;
            Some(Self { queue: QueueName::new(queue).ok()?, shard })
        };
        text.rsplit_once('/')
            .and_then(read)
            .ok_or("write the queue and the number of the shard, such as orders/3")
    }
}

impl fmt::Display for ShardPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.queue, self.shard.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_written_behind_its_queue() {
        for text in ["orders/3", "a/b/0"] {
            assert_eq!(text.parse::<ShardPlace>().unwrap().to_string(), text);
        }
        for text in ["orders", "orders/", "/3", "orders/-1", "orders/x", "orders/70000"] {
            assert!(text.parse::<ShardPlace>().is_err(), "{text}");
        }
    }
}
