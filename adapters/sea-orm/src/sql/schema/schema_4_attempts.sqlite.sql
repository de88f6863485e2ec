-- Version 4: attempts at notification messages, and the rates of providers. Every statement may run again, also concurrently.

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
