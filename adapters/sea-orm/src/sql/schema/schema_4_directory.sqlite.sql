
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
