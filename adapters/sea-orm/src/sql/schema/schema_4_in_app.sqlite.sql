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
