/// How often a test repeats a race or draws a sequence: a quarter of `all`, or `all` in the group `repetitions` of the long tier, which sets
/// `CLAIMSTREAM_REPETITIONS=all`.
pub fn repetitions(all: u32) -> u32 {
    let is_whole = std::env::var("CLAIMSTREAM_REPETITIONS").is_ok_and(|asked| asked == "all");
    if is_whole { all } else { all.div_ceil(4) }
}
