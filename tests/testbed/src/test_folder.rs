use std::{
    env,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

/// Where `tests/run` wants servers of tests to keep their data, so that it can stop those whose test was killed.
const FOLDERS: &str = "CLAIMSTREAM_TEST_DIR";

/// A folder of its own for a server of one test; `kind` names the server, `tests/run` knows how to stop each kind.
pub fn test_folder(kind: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{kind}-{}-{number}", std::process::id());
    match env::var_os(FOLDERS) {
        Some(tests) => PathBuf::from(tests).join(name),
        None => env::temp_dir().join(format!("claimstream-{name}")),
    }
}
