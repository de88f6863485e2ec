use std::{fs, path::PathBuf};

use claimstream_cli::config::{Config, ConfigError, DatabaseUrl, Loaded, Secret, Sources};
use tempfile::{TempDir, tempdir};

use crate::{
    Target,
    head::{is_secret, text},
};

/// The program's file of settings.
pub(super) const FILE: Target = Target {
    name: "configuration",
    run: |data| match load(data) {
        Ok(loaded) => {
            let printed = loaded.printed();
            match load(printed.as_bytes()) {
                Ok(again) => assert_eq!(format!("{:?}", again.config), format!("{:?}", loaded.config)),
                Err(why) => panic!("what is printed is refused: {why}\n{printed}"),
            }
            true
        }
        Err(refused) => {
            let refused = refused.to_string();
            let names_a_key = |line: &str| line.contains('`');
            assert!(
                refused.lines().all(names_a_key) || refused.contains("not TOML") || text(data).is_none(),
                "{refused}"
            );
            false
        }
    },
    seeds: &[
        b"[database]\nurl = \"mysql://app:hunter2@db1:3306,db2/shop?ssl-mode=REQUIRED&x=%26\"\nstrategy = \"shard_lease\"\norder = \"per_key\"\n[relay]\nbatch = 1_0\nlease = \"1m 30s\"\n",
        b"databases.eu.url = \"sqlite://eu.db\"\ndatabases.us = { url = \"sqlite://us.db\", drain = true }\nserve.database = \"eu\"\n[log]\nlevel = 'warn'\n",
        b"[channels.default]\nprovider = \"log\"\n[channels.email]\nproviders = \"first, second\"\n[providers.first]\ntype = \"smtp\"\nserver = \"smtp://mail.example.com:25\"\nfrom = \"shop@example.com\"\n[providers.second]\ntype = \"webhook\"\nurl = \"https://gate.example/secret\"\nsecret = \"hunter2 hunter2\"\n",
        b"[notifications]\nquiet_hours = \"22:00-08:00\"\ntime_zone = \"Europe/Berlin\"\nchunk = 0x10\n[serve]\nanonymous = true\nlisten = \"[::1]:80\"\n[messages.retry]\nmax_attempts = 3\ncap = \"1h\"\n",
    ],
};

/// Where the database is, and a password that is put in its place.
pub(super) const DATABASE_URL: Target = Target {
    name: "database_url",
    run: |data| {
        let Some(given) = text(data) else { return false };
        let Ok(url) = DatabaseUrl::new(given) else { return false };
        let shown = url.to_string();
        // The name of a file is no secret.
        assert!(
            url.is_sqlite() || !is_secret(given) || !format!("{shown} {url:?}").contains("hunter2"),
            "a password is shown: {shown}"
        );
        match DatabaseUrl::new(&shown) {
            Ok(again) => assert_eq!(
                (again.to_string(), again.is_sqlite(), again.file()),
                (shown, url.is_sqlite(), url.file())
            ),
            Err(why) => panic!("what is shown is refused: {why}\n{shown}"),
        }
        if let Ok(with) = url.with_password(&Secret::new("swordfish/@,?#")) {
            assert!(!format!("{with} {with:?}").contains("swordfish"), "a password is shown: {with}");
        }
        true
    },
    seeds: &[
        b"mysql://app:hunter2@db.example.com:3306/shop?ssl-mode=REQUIRED&x=%26",
        b"mariadb://app@db1,DB2:3307,[::1]:3307/sh%20op?charset=utf8mb4",
        b"mysql://db/shop?socket=%2Ftmp%2Fs",
        b"sqlite://my%20shop/100%25.db?mode=rwc",
        b"sqlite::memory:",
    ],
};

/// Reads a file with these bytes, and nothing else.
fn load(bytes: &[u8]) -> Result<Loaded, ConfigError> {
    thread_local! {
        static FOLDER: TempDir = tempdir().expect("a temporary folder");
    }
    let file: PathBuf = FOLDER.with(|folder| folder.path().join("claimstream.toml"));
    fs::write(&file, bytes).expect("a file");
    Config::load(&Sources { file: Some(file), ..Sources::default() })
}
