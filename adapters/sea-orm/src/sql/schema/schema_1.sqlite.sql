-- Version 1 of Claimstream's tables for SQLite: times are microseconds of UTC since 1970.
-- Every statement may run again, also concurrently.

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
  created_at   INTEGER NOT NULL, -- when it was stored, or stored anew by a revival
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

-- Who holds which shard of which queue under shard_lease, until when, and what is in flight there.
CREATE TABLE IF NOT EXISTS claimstream_lease (
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL,
  holder       BLOB    NULL, -- one opened outbox, or NULL if free
  label        TEXT    NULL, -- for people
  fence        INTEGER NOT NULL, -- grows with every holder
  held_until   INTEGER NOT NULL,
  in_flight    INTEGER NOT NULL,
  flights      BLOB    NULL, -- 24 bytes each: due time in microseconds, id
  token        INTEGER NOT NULL, -- of the newest write, to find out about lost answers
  PRIMARY KEY (queue, shard)
) WITHOUT ROWID;

-- Who made which claim ids, for people.
CREATE TABLE IF NOT EXISTS claimstream_instance (
  instance     BLOB    NOT NULL,
  label        TEXT    NOT NULL,
  seen_at      INTEGER NOT NULL,
  PRIMARY KEY (instance)
) WITHOUT ROWID;

-- Notification requests and where they stand.
CREATE TABLE IF NOT EXISTS claimstream_notification_request (
  id           BLOB    NOT NULL,
  status       TEXT    NOT NULL,
  request      BLOB    NOT NULL, -- JSON
  reason       TEXT    NULL,
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;

-- One row for each recipient and channel of a request, and where it stands.
CREATE TABLE IF NOT EXISTS claimstream_notification_message (
  id           BLOB    NOT NULL,
  request_id   BLOB    NOT NULL,
  channel      TEXT    NOT NULL,
  recipient    TEXT    NOT NULL,
  status       TEXT    NOT NULL,
  reason       TEXT    NULL,
  reference    TEXT    NULL,
  created_at   INTEGER NOT NULL,
  changed_at   INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_notification_message_messages_of_request ON claimstream_notification_message (request_id, id);

-- The outbox under the names that other texts use, to be read by people; nothing is ever decided by it.
CREATE VIEW IF NOT EXISTS claimstream_outbox AS
WITH clock AS (SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) AS now)
SELECT q.id                                                      AS outbox_id,
       q.queue                                                   AS topic,
       q.shard                                                   AS shard_id,
       m.ordering_key                                            AS sharding_key,
       CASE WHEN q.claim_id IS NOT NULL AND q.available_at > clock.now THEN 'PROCESSING'
            WHEN q.attempts > 0 THEN 'FAILED' ELSE 'NEW' END     AS status,
       q.attempts                                                AS retry_count,
       CASE WHEN q.claim_id IS NULL THEN q.available_at END      AS next_retry_time,
       i.label                                                   AS lock_owner,
       CASE WHEN q.claim_id IS NOT NULL THEN q.available_at END  AS lock_until,
       q.last_error                                              AS last_error,
       m.payload                                                 AS payload,
       m.created_at                                              AS created_at
  FROM claimstream_queue q
 CROSS JOIN clock
  LEFT JOIN claimstream_message m ON m.id = q.id
  LEFT JOIN claimstream_instance i ON i.instance = substr(q.claim_id, 1, 8)
UNION ALL
SELECT d.id, d.queue, d.shard, d.ordering_key, 'DEAD', d.attempts, NULL, NULL, NULL, d.reason, d.payload, d.created_at
  FROM claimstream_dead d;

-- Which versions have been applied; the row of a version is written last.
CREATE TABLE IF NOT EXISTS claimstream_schema (
  version      INTEGER NOT NULL,
  applied_at   INTEGER NOT NULL,
  PRIMARY KEY (version)
) WITHOUT ROWID;
