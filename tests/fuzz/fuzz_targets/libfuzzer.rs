//! libFuzzer's way to the targets: `CLAIMSTREAM_FUZZ=cron cargo +nightly fuzz run --fuzz-dir tests/fuzz --features libfuzzer libfuzzer`.
#![no_main]

use std::sync::LazyLock;

use claimstream_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("CLAIMSTREAM_FUZZ").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| panic!("CLAIMSTREAM_FUZZ names no target: {name:?}"))
});

fuzz_target!(|data: &[u8]| {
    (TARGET.run)(data);
});
