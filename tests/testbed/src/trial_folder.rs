use std::{
    env,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

/// Where `tests/run` wants servers of trials to keep their data, so that it can stop those whose trial was killed.
const TRIALS: &str = "CLAIMSTREAM_TRIALS_DIR";

/// A folder that nobody else has, for a server of one trial; `kind` names the server, `tests/run` knows how to stop each kind.
pub fn trial_folder(kind: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{kind}-{}-{number}", std::process::id());
    match env::var_os(TRIALS) {
        Some(trials) => PathBuf::from(trials).join(name),
        None => env::temp_dir().join(format!("claimstream-{name}")),
    }
}
