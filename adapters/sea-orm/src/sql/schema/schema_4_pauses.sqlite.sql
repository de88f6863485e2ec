
-- Queues that were paused, and by whom. A row stays after the queue was resumed, and says by whom that was.
CREATE TABLE IF NOT EXISTS claimstream_pause (
  queue        TEXT    NOT NULL,
  paused_at    INTEGER NOT NULL, -- UTC
  paused_by    TEXT    NOT NULL,
  why          TEXT    NULL,
  resumed_at   INTEGER NULL, -- UTC, or NULL while it is paused
  resumed_by   TEXT    NULL,
  PRIMARY KEY (queue)
) WITHOUT ROWID;
