-- The digest that messages of one recipient, channel, address and category join; it goes when the digest is closed.
CREATE TABLE IF NOT EXISTS claimstream_digest (
  digest_key   BLOB    NOT NULL, -- made of what its items have in common
  digest_id    BLOB    NOT NULL, -- the id of the message that opened it, and of its outbox message
  items        INTEGER NOT NULL,
  closes_at    INTEGER NOT NULL,
  PRIMARY KEY (digest_key)
) WITHOUT ROWID;
-- Messages that are delivered together with others; each stays as long as its record.
CREATE TABLE IF NOT EXISTS claimstream_digest_item (
  id           BLOB    NOT NULL, -- the id of the message
  digest_id    BLOB    NOT NULL,
  item         BLOB    NOT NULL, -- JSON
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_digest_item_of_digest ON claimstream_digest_item (digest_id, created_at, id);
