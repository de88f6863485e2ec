# Short names for the project's own commands; each can be typed by itself.

# The fast tests: pure, memory, SQLite; nothing is installed or fetched
test *arguments:
    cargo test {{ arguments }}

# Every test that needs a server, on private servers
servers *arguments:
    tests/run {{ arguments }}

# The long tier: clusters, kills, faults, brokers, browser, other languages
long *arguments:
    tests/run --long {{ arguments }}

# Formatting, lints, spelling and scripts
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets $(tests/run --workspace-features) --locked -- -D warnings
    tests/lint

# Every check that a change must pass
ci:
    .ci/run

# The documentation of all crates, in the browser
doc:
    cargo doc --workspace --no-deps --locked --open
