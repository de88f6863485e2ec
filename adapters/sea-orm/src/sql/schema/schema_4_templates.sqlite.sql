
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
