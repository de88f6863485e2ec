/// Makes inputs of a target from its seeds; the same from the same number.
#[derive(Debug)]
pub struct Generator {
    state: u64,
    /// Seeds, and parts of them.
    pool: Vec<Vec<u8>>,
}

/// Bytes at which parsers decide, and numbers at their limits.
const TOKENS: [&[u8]; 24] = [
    b"\n",
    b"\0",
    b"\xff",
    b"\xc3\xa9",
    b"\xe2\x80\xae",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"{{",
    b"}}",
    b"{%",
    b"%",
    b"%00",
    b"[",
    b"/",
    b":",
    b"@",
    b"0",
    b"-1",
    b"65536",
    b"4294967296",
    b"18446744073709551616",
    b"1e400",
];

/// The longest input. What is larger is refused by limits that tests hold.
const LONGEST: usize = 16 * 1024;

impl Generator {
    /// A generator of inputs that resemble the seeds.
    pub fn new(seed: u64, seeds: &[&[u8]]) -> Self {
        let words = seeds.iter().flat_map(|seed| seed.split(|byte| !byte.is_ascii_alphanumeric()));
        let mut pool: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.to_vec()).collect();
        pool.extend(words.filter(|word| word.len() > 1).map(<[u8]>::to_vec));
        pool.push(Vec::new());
        Self { state: seed, pool }
    }

    /// The next input: one of few is made of nothing, and the others of a seed with some changes.
    pub fn next_input(&mut self) -> Vec<u8> {
        if self.below(16) == 0 {
            let length = self.below(64);
            return (0..length).map(|_| self.byte()).collect();
        }
        let mut input = self.pick();
        // Many changes at once are mostly refused for the first of them.
        let most = 1 + self.below(8);
        for _ in 0..=self.below(most) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let length = self.below(input.len() - at + 1).min(1 + self.below(32));
        match self.below(8) {
            0 | 1 if at < input.len() => input[at] ^= 1 << self.below(8),
            2 if at < input.len() => input[at] = self.byte(),
            3 => drop(input.drain(at..at + length)),
            4 => {
                let copy = input[at..at + length].repeat(1 + self.below(16));
                drop(input.splice(at..at, copy));
            }
            5 => {
                let token = TOKENS[self.below(TOKENS.len())];
                drop(input.splice(at..at + length, token.iter().copied()));
            }
            6 => input.truncate(at),
            _ => {
                let other = self.pick();
                drop(input.splice(at..at + length, other));
            }
        }
    }

    fn pick(&mut self) -> Vec<u8> {
        let at = self.below(self.pool.len());
        self.pool[at].clone()
    }

    fn byte(&mut self) -> u8 {
        self.random().to_le_bytes()[0]
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.random() % limit.max(1) as u64).unwrap_or(0)
    }

    /// Source: SplitMix64, by Sebastiano Vigna.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_makes_the_same_inputs() {
        let inputs = |seed| {
            let mut generator = Generator::new(seed, &[b"a seed: 7", b"another"]);
            (0..500).map(|_| generator.next_input()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        assert!(inputs(1).iter().all(|input| input.len() <= LONGEST));
    }
}
