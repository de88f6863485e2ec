use std::{io::Write, path::Path, process::ExitCode};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{arguments::Arguments, failure::Failure};

/// Prints what a shell needs to complete our arguments.
pub(crate) fn completions(shell: Shell, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "claimstream", &mut script);
    out.write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for the program and one for each of its commands into a directory.
pub(crate) fn man(directory: &Path, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let refused =
        |e| Failure::Refused(format!("the pages cannot be written to {}: {e}", directory.display()));
    std::fs::create_dir_all(directory).map_err(refused)?;
    clap_mangen::generate_to(Arguments::command(), directory).map_err(refused)?;
    writeln!(out, "the manual pages are in {}", directory.display())?;
    Ok(ExitCode::SUCCESS)
}
