
-- What providers say of messages after they have taken them, a row for each kind.
CREATE TABLE IF NOT EXISTS claimstream_notification_receipt (
  message_id   BLOB    NOT NULL,
  kind         TEXT    NOT NULL,
  seen_at      INTEGER NOT NULL, -- when it came first
  said_at      TEXT    NULL, -- when it was so, in the words of the provider
  PRIMARY KEY (message_id, kind)
) WITHOUT ROWID;

-- Receipts that were faster than the note of the delivery they are about. They wait for it, and not for long.
CREATE TABLE IF NOT EXISTS claimstream_notification_receipt_waiting (
  provider     TEXT    NOT NULL,
  reference    TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  address      TEXT    NULL,
  said_at      TEXT    NULL,
  note         TEXT    NULL,
  seen_at      INTEGER NOT NULL, -- when it came first
  PRIMARY KEY (provider, reference, kind)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_notification_receipt_waiting_age ON claimstream_notification_receipt_waiting (seen_at);
