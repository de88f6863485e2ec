-- The tables of notifications, version 1, for SQLite: times are microseconds of UTC since 1970. Every statement may run again,
-- also concurrently.

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
CREATE INDEX IF NOT EXISTS claimstream_notification_request_requests_by_age ON claimstream_notification_request (created_at, id);

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

-- Requests whose content was erased, with the fingerprint of each, so that the same request is still known.
CREATE TABLE IF NOT EXISTS claimstream_notification_erasure (
  request_id   BLOB    NOT NULL,
  fingerprint  BLOB    NOT NULL, -- SHA-256 of the request as it was
  erased_at    INTEGER NOT NULL,
  PRIMARY KEY (request_id)
) WITHOUT ROWID;

-- What users read inside the application, one row for each delivered message of the in-app channel.
CREATE TABLE IF NOT EXISTS claimstream_in_app (
  id           BLOB    NOT NULL, -- the id of the message
  user_id      TEXT    NOT NULL,
  request_id   BLOB    NOT NULL,
  content      BLOB    NOT NULL, -- JSON
  is_read      INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_in_app_newest ON claimstream_in_app (user_id, created_at, id);
CREATE INDEX IF NOT EXISTS claimstream_in_app_unread ON claimstream_in_app (user_id, is_read, created_at, id);
CREATE INDEX IF NOT EXISTS claimstream_in_app_age ON claimstream_in_app (created_at);

-- Which provider was asked to deliver which message, when, and what it answered.
CREATE TABLE IF NOT EXISTS claimstream_notification_attempt (
  message_id   BLOB    NOT NULL,
  claim_id     BLOB    NOT NULL, -- of the attempt, which no two share
  call_number  INTEGER NOT NULL, -- which provider of the attempt it was
  number       INTEGER NOT NULL, -- of the attempt
  provider     TEXT    NOT NULL,
  began_at     INTEGER NOT NULL, -- UTC
  took         INTEGER NOT NULL, -- microseconds
  class        TEXT    NOT NULL,
  acceptance   TEXT    NOT NULL,
  reason       TEXT    NULL,
  reference    TEXT    NULL, -- the name of the delivery, by which receipts name it
  PRIMARY KEY (message_id, claim_id, call_number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_notification_attempt_delivery ON claimstream_notification_attempt (provider, reference)
 WHERE reference IS NOT NULL;

-- How far the tokens of a provider's rate are handed out.
CREATE TABLE IF NOT EXISTS claimstream_provider_rate (
  provider     TEXT    NOT NULL,
  handed_out_until INTEGER NOT NULL, -- UTC: the tokens of all time before are handed out
  PRIMARY KEY (provider)
) WITHOUT ROWID;

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

-- What recipients want, by the key of the recipient or of the address it was given by.
CREATE TABLE IF NOT EXISTS claimstream_preference (
  recipient_hash  BLOB    NOT NULL, -- SHA-256 of the key
  recipient       TEXT    NOT NULL,
  preferences     BLOB    NOT NULL, -- JSON
  changed_at      INTEGER NOT NULL,
  PRIMARY KEY (recipient_hash)
) WITHOUT ROWID;

-- Addresses that must not be written to.
CREATE TABLE IF NOT EXISTS claimstream_suppression (
  address_hash  BLOB    NOT NULL, -- SHA-256 of channel and address
  channel       TEXT    NOT NULL,
  address       TEXT    NOT NULL,
  reason        TEXT    NOT NULL,
  note          TEXT    NULL,
  since         INTEGER NOT NULL,
  PRIMARY KEY (address_hash)
) WITHOUT ROWID;

-- Templates of notifications: the draft of each.
CREATE TABLE IF NOT EXISTS claimstream_template (
  template_id  TEXT    NOT NULL,
  revision     INTEGER NOT NULL, -- how often the draft has changed
  draft        BLOB    NOT NULL, -- JSON
  changed_at   INTEGER NOT NULL,
  PRIMARY KEY (template_id)
) WITHOUT ROWID;

-- Their versions, which never change; the newest is sent.
CREATE TABLE IF NOT EXISTS claimstream_template_version (
  template_id   TEXT    NOT NULL,
  number        INTEGER NOT NULL,
  content       BLOB    NOT NULL, -- JSON, with the templates that it includes
  restores      INTEGER NULL, -- the older version that it repeats
  publication   BLOB    NOT NULL, -- the call that has published it
  published_at  INTEGER NOT NULL,
  PRIMARY KEY (template_id, number)
) WITHOUT ROWID;

-- Users that notifications are sent to, with their addresses.
CREATE TABLE IF NOT EXISTS claimstream_directory_user (
  user_id       TEXT    NOT NULL,
  email         TEXT    NULL,
  phone         TEXT    NULL,
  device_token  TEXT    NULL,
  webhook       TEXT    NULL,
  chat          TEXT    NULL,
  language      TEXT    NULL,
  time_zone     TEXT    NULL,
  attributes    BLOB    NULL, -- JSON
  changed_at    INTEGER NOT NULL,
  PRIMARY KEY (user_id)
) WITHOUT ROWID;

-- Segments of users, also those without users.
CREATE TABLE IF NOT EXISTS claimstream_directory_segment (
  segment     TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (segment)
) WITHOUT ROWID;

-- Which user is in which segment.
CREATE TABLE IF NOT EXISTS claimstream_directory_member (
  segment  TEXT    NOT NULL,
  user_id  TEXT    NOT NULL,
  PRIMARY KEY (segment, user_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_directory_member_of_user ON claimstream_directory_member (user_id, segment);

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

-- Recipients that were erased, as long as requests are kept that were taken in before. A row without a moment is one that a restored record
-- holds until its transaction ends.
CREATE TABLE IF NOT EXISTS claimstream_erased_recipient (
  recipient_hash  BLOB     NOT NULL, -- SHA-256
  erased_at       INTEGER  NULL, -- UTC
  PRIMARY KEY (recipient_hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimstream_erased_recipient_age ON claimstream_erased_recipient (erased_at);
