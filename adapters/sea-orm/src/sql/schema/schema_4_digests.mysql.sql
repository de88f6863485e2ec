-- The digest that messages of one recipient, channel, address and category join; it goes when the digest is closed.
CREATE TABLE IF NOT EXISTS claimstream_digest (
  digest_key   BINARY(16)    NOT NULL COMMENT 'made of what its items have in common',
  digest_id    BINARY(16)    NOT NULL COMMENT 'the id of the message that opened it, and of its outbox message',
  items        INT UNSIGNED  NOT NULL,
  closes_at    DATETIME(6)   NOT NULL,
  PRIMARY KEY (digest_key)
) ENGINE = InnoDB;
-- Messages that are delivered together with others; each stays as long as its record.
CREATE TABLE IF NOT EXISTS claimstream_digest_item (
  id           BINARY(16)    NOT NULL COMMENT 'the id of the message',
  digest_id    BINARY(16)    NOT NULL,
  item         MEDIUMBLOB    NOT NULL COMMENT 'JSON',
  created_at   DATETIME(6)   NOT NULL,
  PRIMARY KEY (id),
  KEY of_digest (digest_id, created_at, id)
) ENGINE = InnoDB;
