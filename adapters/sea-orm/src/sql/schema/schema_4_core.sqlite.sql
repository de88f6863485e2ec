-- Version 4: what is left of requests whose content was erased. Every statement may run again, also concurrently.

-- Requests whose content was erased, with the fingerprint of each, so that the same request is still known.
CREATE TABLE IF NOT EXISTS claimstream_notification_erasure (
  request_id   BLOB    NOT NULL,
  fingerprint  BLOB    NOT NULL, -- SHA-256 of the request as it was
  erased_at    INTEGER NOT NULL,
  PRIMARY KEY (request_id)
) WITHOUT ROWID;
