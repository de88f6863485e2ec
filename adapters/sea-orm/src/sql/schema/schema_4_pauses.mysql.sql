
-- Queues that were paused, and by whom. A row stays after the queue was resumed, and says by whom that was.
CREATE TABLE IF NOT EXISTS claimstream_pause (
  queue        VARBINARY(64)     NOT NULL,
  paused_at    DATETIME(6)       NOT NULL COMMENT 'UTC',
  paused_by    VARBINARY(64)     NOT NULL,
  why          VARBINARY(500)    NULL,
  resumed_at   DATETIME(6)       NULL COMMENT 'UTC, or NULL while it is paused',
  resumed_by   VARBINARY(64)     NULL,
  PRIMARY KEY (queue)
) ENGINE = InnoDB;
