
-- The resharding that was begun, if any. Its row goes when the triggers go by which messages find their new shards.
CREATE TABLE IF NOT EXISTS claimstream_resharding (
  number       TINYINT UNSIGNED  NOT NULL COMMENT 'always 1: there is one at a time',
  shards       SMALLINT UNSIGNED NOT NULL COMMENT 'how many there will be',
  from_shards  SMALLINT UNSIGNED NOT NULL COMMENT 'how many there were',
  cut_at       DATETIME(6)       NULL COMMENT 'UTC: since when messages are written by the new count',
  PRIMARY KEY (number)
) ENGINE = InnoDB;

-- Shards from which no relay begins to claim, because messages are being moved out of them. It ends by itself.
CREATE TABLE IF NOT EXISTS claimstream_closed_shard (
  queue        VARBINARY(64)     NOT NULL,
  shard        SMALLINT UNSIGNED NOT NULL,
  closed_until DATETIME(6)       NOT NULL COMMENT 'UTC',
  PRIMARY KEY (queue, shard)
) ENGINE = InnoDB;
