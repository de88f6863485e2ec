//! The program `claimstream`; see `claimstream --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    claimstream_cli::run()
}
