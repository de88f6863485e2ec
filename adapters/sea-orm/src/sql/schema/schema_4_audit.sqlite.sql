
-- What operators have done, a row for each action, written before it is done.
CREATE TABLE IF NOT EXISTS claimstream_audit (
  number       INTEGER NOT NULL PRIMARY KEY,
  noted_at     INTEGER NOT NULL, -- UTC
  actor        TEXT    NOT NULL,
  action       TEXT    NOT NULL, -- a word, such as pause or purge
  subject      TEXT    NOT NULL,
  affected     INTEGER NULL -- how many it is done to, if that is known
);
CREATE INDEX IF NOT EXISTS claimstream_audit_age ON claimstream_audit (noted_at);
