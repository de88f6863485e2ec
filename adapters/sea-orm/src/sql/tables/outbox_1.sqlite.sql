-- The tables of the outbox, version 1, for SQLite: times are microseconds of UTC since 1970. Every statement may run again,
-- also concurrently.

-- What may be claimed, and nothing else: clustered on the order of claiming, without any secondary index.
CREATE TABLE IF NOT EXISTS claimstream_queue (
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL,
  available_at INTEGER NOT NULL, -- UTC: due time, or end of the lease of claim_id
  id           BLOB    NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0, -- counted at claim
  claim_id     BLOB    NULL, -- the fence, first half = claimstream_instance.instance
  claimed_from INTEGER NULL, -- available_at before the claim, or of an attempt that was cut off
  parked_until INTEGER NULL, -- waits in its place, where keys are in order
  last_error   TEXT    NULL,
  PRIMARY KEY (queue, shard, available_at, id)
) WITHOUT ROWID;

-- What messages carry; written once, read by id.
CREATE TABLE IF NOT EXISTS claimstream_message (
  id           BLOB    NOT NULL,
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL,
  ordering_key TEXT    NULL,
  headers      BLOB    NULL, -- JSON object
  content_type TEXT    NOT NULL,
  payload      BLOB    NOT NULL,
  created_at   INTEGER NOT NULL, -- when it was stored, or stored again by a revival
  first_at     INTEGER NULL, -- when it was stored first, if it was revived
  PRIMARY KEY (id)
) WITHOUT ROWID;

-- What messages are unique by, for those that ask for it.
CREATE TABLE IF NOT EXISTS claimstream_dedup (
  queue        TEXT    NOT NULL,
  dedup_key    TEXT    NOT NULL,
  message_id   BLOB    NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (queue, dedup_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_dedup_age ON claimstream_dedup (created_at);

-- What was given up, whole, so that it can be judged and revived.
CREATE TABLE IF NOT EXISTS claimstream_dead (
  id           BLOB    NOT NULL,
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL,
  ordering_key TEXT    NULL,
  headers      BLOB    NULL,
  content_type TEXT    NOT NULL,
  payload      BLOB    NOT NULL,
  created_at   INTEGER NOT NULL,
  attempts     INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  died_at      INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_dead_newest_in_queue ON claimstream_dead (queue, died_at);

-- One row for each shard; their number is fixed when the schema is made.
CREATE TABLE IF NOT EXISTS claimstream_shard (
  shard        INTEGER NOT NULL,
  PRIMARY KEY (shard)
) WITHOUT ROWID;

-- Who made which claim ids, for people.
CREATE TABLE IF NOT EXISTS claimstream_instance (
  instance     BLOB    NOT NULL,
  label        TEXT    NOT NULL,
  seen_at      INTEGER NOT NULL,
  PRIMARY KEY (instance)
) WITHOUT ROWID;

-- Queues that were paused, and by whom, and single shards from which no relay begins to claim for a while, because messages are moved out
-- of them. The row of a queue stays after it was resumed, and says by whom that was.
CREATE TABLE IF NOT EXISTS claimstream_pause (
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL, -- 65535: the whole queue
  paused_at    INTEGER NOT NULL, -- UTC
  paused_by    TEXT    NOT NULL,
  why          TEXT    NULL,
  resumed_at   INTEGER NULL, -- UTC: a shard is paused until then, and a queue was resumed then
  resumed_by   TEXT    NULL,
  PRIMARY KEY (queue, shard)
) WITHOUT ROWID;

-- What operators have done, a row for each action, written before it is done.
CREATE TABLE IF NOT EXISTS claimstream_audit (
  number       INTEGER NOT NULL PRIMARY KEY,
  noted_at     INTEGER NOT NULL, -- UTC
  actor        TEXT    NOT NULL,
  action       TEXT    NOT NULL, -- a word, such as pause or purge
  subject      TEXT    NOT NULL,
  affected     INTEGER NULL -- how many it is done to, if that is known
);
CREATE INDEX IF NOT EXISTS claimstream_audit_age ON claimstream_audit (noted_at);

-- The outbox under the names that other texts use, to be read by people; nothing is ever decided by it.
-- NULL is what is unknown: lock_time where a claim is not stamped with its beginning, updated_at of a message that has been touched since it
-- was stored. Times are microseconds since 1970, UTC.
CREATE VIEW IF NOT EXISTS claimstream_outbox AS
WITH clock AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS now)
SELECT q.id                                                      AS id,
       q.id                                                      AS outbox_id,
       q.queue                                                   AS topic,
       q.shard                                                   AS shard_id,
       m.ordering_key                                            AS sharding_key,
       CASE WHEN q.claim_id IS NOT NULL AND q.available_at > clock.now THEN 'PROCESSING'
            WHEN q.attempts > 0 THEN 'FAILED' ELSE 'NEW' END     AS status,
       q.attempts                                                AS retry_count,
       CASE WHEN q.claim_id IS NULL
            THEN COALESCE(q.parked_until, q.available_at) END    AS next_retry_time,
       i.label                                                   AS lock_owner,
       CAST(NULL AS INTEGER)                                     AS lock_time,
       CASE WHEN q.claim_id IS NOT NULL THEN q.available_at END  AS lock_until,
       q.last_error                                              AS last_error,
       m.payload                                                 AS payload,
       COALESCE(m.first_at, m.created_at)                        AS created_at,
       CASE WHEN q.claim_id IS NULL AND q.attempts = 0
            THEN m.created_at END                                AS updated_at
  FROM claimstream_queue q
 CROSS JOIN clock
  LEFT JOIN claimstream_message m ON m.id = q.id
  LEFT JOIN claimstream_instance i ON i.instance = substr(q.claim_id, 1, 8)
UNION ALL
SELECT d.id, d.id, d.queue, d.shard, d.ordering_key, 'DEAD', d.attempts, NULL, NULL, NULL, NULL, d.reason, d.payload,
       d.created_at, d.died_at
  FROM claimstream_dead d;

-- The versions of each capability's tables, whose row is written last; and the resharding that was begun, if any, whose row goes when the
-- trigger goes by which messages find their new shards.
CREATE TABLE IF NOT EXISTS claimstream_schema (
  capability   TEXT    NOT NULL, -- the name of a capability, or resharding
  version      INTEGER NOT NULL,
  applied_at   INTEGER NULL, -- UTC, of a resharding since when messages are written by the new count
  shards       INTEGER NULL, -- of a resharding, how many there will be
  from_shards  INTEGER NULL, -- of a resharding, how many there were
  PRIMARY KEY (capability, version)
) WITHOUT ROWID;
