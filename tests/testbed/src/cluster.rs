use std::{
    env, io,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbErr};

use crate::{ClusterKind, test_folder};

/// A cluster for one test, whose nodes may be killed, paused, cut off and started again; ended with it. Nodes are counted from 1.
///
/// It panics where a node does not obey: a test that has lost its cluster shows nothing.
pub struct Cluster {
    folder: PathBuf,
    kind: ClusterKind,
    urls: Vec<String>,
}

impl Cluster {
    /// Starts one.
    pub fn start(kind: ClusterKind) -> Self {
        let mut cluster = Self { folder: test_folder("cluster"), kind, urls: Vec::new() };
        cluster.say("up", None);
        cluster.urls = cluster.say("nodes", None).lines().map(str::to_owned).collect();
        cluster
    }

    /// What it is.
    pub fn kind(&self) -> ClusterKind {
        self.kind
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.urls.len()
    }

    /// Where a node is; it stays there.
    pub fn url(&self, node: usize) -> &str {
        &self.urls[node - 1]
    }

    /// Ends a node without a warning.
    pub fn kill(&self, node: usize) {
        self.say("kill", Some(node));
    }

    /// Ends a node in order.
    pub fn stop(&self, node: usize) {
        self.say("stop", Some(node));
    }

    /// Starts a node that has ended, and waits until it is back.
    pub fn start_again(&self, node: usize) {
        self.say("start", Some(node));
    }

    /// Stops the process of a node for now.
    pub fn pause(&self, node: usize) {
        self.say("pause", Some(node));
    }

    /// Lets a node continue.
    pub fn resume(&self, node: usize) {
        self.say("resume", Some(node));
    }

    /// From now on the replica of a pair receives nothing: what the source commits is lost with it.
    pub fn lose(&self) {
        self.say("lose", None);
    }

    /// The replica of a pair carries out what it has received, forgets its source and takes writes.
    pub async fn promote(&self) -> Result<(), DbErr> {
        let db = connect(self.url(2)).await?;
        let carried_out = async {
            while !has_carried_out(&db).await? {
                tokio::time::sleep(Self::LOOK).await;
            }
            Ok(())
        };
        self.in_time("the replica has not carried out what it has received", carried_out).await?;
        db.close().await?;
        tokio::task::block_in_place(|| self.say("promote", None));
        Ok(())
    }

    /// Waits until the replica of a pair has what its source has now.
    pub async fn catch_up(&self) -> Result<(), DbErr> {
        let (source, replica) = (connect(self.url(1)).await?, connect(self.url(2)).await?);
        let marker = format!("marker_{}", uuid::Uuid::now_v7().simple());
        source.execute_unprepared(&format!("CREATE TABLE {marker} (id INT NOT NULL PRIMARY KEY)")).await?;
        let caught_up = async {
            while replica.execute_unprepared(&format!("SELECT id FROM {marker}")).await.is_err() {
                tokio::time::sleep(Self::LOOK).await;
            }
            Ok(())
        };
        self.in_time("the replica has not caught up", caught_up).await?;
        source.close().await?;
        replica.close().await
    }

    async fn in_time(&self, what: &str, wait: impl Future<Output = Result<(), DbErr>>) -> Result<(), DbErr> {
        let late =
            |_| Err(DbErr::Custom(format!("{what} of {} within {:?}", self.kind.name, Self::REPLICATION)));
        tokio::time::timeout(Self::REPLICATION, wait).await.unwrap_or_else(late)
    }

    /// Cuts a node of a Galera cluster off from the others; its clients still reach it.
    pub async fn cut_off(&self, node: usize) -> Result<(), DbErr> {
        self.isolate(node, 1).await
    }

    /// Lets a node that was cut off meet the others again.
    pub async fn reconnect(&self, node: usize) -> Result<(), DbErr> {
        self.isolate(node, 0).await
    }

    async fn isolate(&self, node: usize, isolated: u8) -> Result<(), DbErr> {
        let db = connect(self.url(node)).await?;
        let set = format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={isolated}'");
        db.execute_unprepared(&set).await?;
        db.close().await
    }

    /// The first node that takes writes, if one does now.
    pub async fn writer(&self) -> Option<usize> {
        for node in 1..=self.nodes() {
            let asked = tokio::time::timeout(Self::TIMEOUT, takes_writes(self.url(node)));
            if let Ok(Ok(true)) = asked.await {
                return Some(node);
            }
        }
        None
    }

    const LOOK: Duration = Duration::from_millis(50);

    /// How long a replica may be behind; one that has stopped stays so for ever.
    const REPLICATION: Duration = Duration::from_secs(60);

    /// How long a node may take to say whether it takes writes.
    const TIMEOUT: Duration = Duration::from_millis(500);

    fn say(&self, command: &str, node: Option<usize>) -> String {
        let said = self.try_say(command, node);
        said.unwrap_or_else(|error| panic!("{command} of {}: {error}", self.kind.name))
    }

    fn try_say(&self, command: &str, node: Option<usize>) -> io::Result<String> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../clusters");
        let output = Command::new(script)
            .args([command, self.kind.name])
            .args(node.map(|node| node.to_string()))
            .env("CLAIMSTREAM_CLUSTERS_DIR", &self.folder)
            .env_remove(self.kind.variable)
            .stdin(Stdio::null())
            .output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.try_say("down", None);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn connect(url: &str) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).acquire_timeout(Duration::from_secs(5)).sqlx_logging(false);
    Database::connect(options).await
}

/// Whether a replica stands where it has read to. MariaDB and MySQL have other words for it.
async fn has_carried_out(db: &DatabaseConnection) -> Result<bool, DbErr> {
    let asked = sea_orm::Statement::from_string(sea_orm::DbBackend::MySql, "SHOW REPLICA STATUS");
    let Some(row) = db.query_one_raw(asked).await? else { return Ok(true) };
    let place = |of_mariadb: &str, of_mysql: &str| -> Result<u64, DbErr> {
        row.try_get("", of_mariadb).or_else(|_| row.try_get("", of_mysql))
    };
    let read = place("Read_Master_Log_Pos", "Read_Source_Log_Pos")?;
    Ok(read == place("Exec_Master_Log_Pos", "Exec_Source_Log_Pos")?)
}

/// A node that is left alone by its group answers, and takes nothing.
async fn takes_writes(url: &str) -> Result<bool, DbErr> {
    let db = connect(url).await?;
    let asked = sea_orm::Statement::from_string(sea_orm::DbBackend::MySql, "SELECT @@global.read_only");
    let row = db.query_one_raw(asked).await?;
    let read_only: Option<i64> = row.map(|row| row.try_get_by_index(0)).transpose()?;
    db.close().await?;
    Ok(read_only == Some(0))
}
