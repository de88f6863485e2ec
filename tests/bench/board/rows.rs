use std::time::Duration;

use claimstream::{Enqueue, MessageId, NewMessage, Payload, QueueName};
use claimstream_sea_orm::SeaOrmOutbox;
use sea_orm::sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};
use uuid::Uuid;

use crate::Failure;

const QUEUE: &str = "orders";
/// How many messages are written by the outbox; the others are copies of these.
const SEED: u64 = 1000;

/// Fills a queue with live messages in every state and with dead letters, and answers how many there are of each.
pub(crate) async fn fill(
    outbox: &SeaOrmOutbox,
    connection: &mut MySqlConnection,
    live: u64,
    dead: u64,
) -> Result<(u64, u64), Failure> {
    seed(outbox).await?;
    double(connection, live).await?;
    kill(connection, dead).await?;
    connection.execute("ANALYZE TABLE claimstream_queue, claimstream_message, claimstream_dead").await?;
    Ok((count(connection, "claimstream_queue").await?, count(connection, "claimstream_dead").await?))
}

/// One message in four is scheduled for later.
async fn seed(outbox: &SeaOrmOutbox) -> Result<(), Failure> {
    let tx = outbox.begin().await?;
    let message = |number: u64| -> Result<NewMessage, Failure> {
        let payload = Payload::new("application/json", format!("\"{}\"", "x".repeat(200)).into_bytes())?;
        let message = NewMessage::new(MessageId::new(Uuid::now_v7()), QueueName::new(QUEUE)?, payload);
        Ok(if number.is_multiple_of(4) {
            message.deliver_after(Duration::from_secs(86_400))
        } else {
            message
        })
    };
    let messages = (0..SEED).map(message).collect::<Result<Vec<_>, _>>()?;
    outbox.enqueue(&tx, &messages).await?;
    outbox.commit(tx).await?;
    Ok(())
}

/// Doubles what lives until there is enough; each copy has an id that is made of that of its original.
async fn double(connection: &mut MySqlConnection, wanted: u64) -> Result<(), Failure> {
    for round in 0.. {
        if count(connection, "claimstream_queue").await? >= wanted {
            return Ok(());
        }
        let copied = |table: &str, columns: &str, chosen: &str| {
            format!(
                "INSERT INTO {table} (id, {columns}) SELECT UNHEX(LEFT(SHA2(CONCAT(id, 'live {round}'), 256), 32)), {chosen} FROM {table}"
            )
        };
        let carried = "queue, shard, headers, content_type, payload, created_at";
        execute(connection, copied("claimstream_message", carried, carried)).await?;
        // Every third copy has failed before, and is due a little later than its original.
        let chosen = "queue, shard, available_at + INTERVAL 1 SECOND, IF(CRC32(id) % 3 = 0, 2, 0), IF(CRC32(id) % 3 = 0, 'timed out', NULL)";
        execute(
            connection,
            copied("claimstream_queue", "queue, shard, available_at, attempts, last_error", chosen),
        )
        .await?;
    }
    Ok(())
}

/// Copies bodies to the dead letters, with twenty errors, spread over a month.
async fn kill(connection: &mut MySqlConnection, wanted: u64) -> Result<(), Failure> {
    for round in 0.. {
        let missing = wanted.saturating_sub(count(connection, "claimstream_dead").await?);
        if missing == 0 {
            return Ok(());
        }
        let dead = format!(
            "INSERT INTO claimstream_dead (id, queue, shard, headers, content_type, payload, created_at, attempts, reason, died_at) \
             SELECT UNHEX(LEFT(SHA2(CONCAT(id, 'dead {round}'), 256), 32)), queue, shard, headers, content_type, payload, created_at, 5, \
             CONCAT('error ', CHAR(97 + CRC32(id) % 20), ': timed out after ', CRC32(id) % 30000, ' ms'), \
             UTC_TIMESTAMP(6) - INTERVAL CRC32(id) % 2592000 SECOND FROM claimstream_message LIMIT {missing}"
        );
        execute(connection, dead).await?;
    }
    Ok(())
}

async fn execute(connection: &mut MySqlConnection, sql: String) -> Result<(), Failure> {
    connection.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}

async fn count(connection: &mut MySqlConnection, table: &str) -> Result<u64, Failure> {
    let row = connection.fetch_one(AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"))).await?;
    Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
}
