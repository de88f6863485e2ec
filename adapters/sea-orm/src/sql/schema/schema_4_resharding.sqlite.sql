
-- The resharding that was begun, if any. Its row goes when the triggers go by which messages find their new shards.
CREATE TABLE IF NOT EXISTS claimstream_resharding (
  number       INTEGER NOT NULL, -- always 1: there is one at a time
  shards       INTEGER NOT NULL, -- how many there will be
  from_shards  INTEGER NOT NULL, -- how many there were
  cut_at       INTEGER NULL, -- UTC: since when messages are written by the new count
  PRIMARY KEY (number)
) WITHOUT ROWID;

-- Shards from which no relay begins to claim, because messages are being moved out of them. It ends by itself.
CREATE TABLE IF NOT EXISTS claimstream_closed_shard (
  queue        TEXT    NOT NULL,
  shard        INTEGER NOT NULL,
  closed_until INTEGER NOT NULL, -- UTC
  PRIMARY KEY (queue, shard)
) WITHOUT ROWID;
