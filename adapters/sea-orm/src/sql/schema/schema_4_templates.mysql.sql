
-- Templates of notifications: the draft of each.
CREATE TABLE IF NOT EXISTS claimstream_template (
  template_id  VARBINARY(128)  NOT NULL,
  revision     INT UNSIGNED    NOT NULL COMMENT 'how often the draft has changed',
  draft        MEDIUMBLOB      NOT NULL COMMENT 'JSON',
  changed_at   DATETIME(6)     NOT NULL,
  PRIMARY KEY (template_id)
) ENGINE = InnoDB;

-- Their versions, which never change; the newest is sent.
CREATE TABLE IF NOT EXISTS claimstream_template_version (
  template_id   VARBINARY(128)  NOT NULL,
  number        INT UNSIGNED    NOT NULL,
  content       MEDIUMBLOB      NOT NULL COMMENT 'JSON, with the templates that it includes',
  restores      INT UNSIGNED    NULL COMMENT 'the older version that it repeats',
  publication   BINARY(16)      NOT NULL COMMENT 'the call that has published it',
  published_at  DATETIME(6)     NOT NULL,
  PRIMARY KEY (template_id, number)
) ENGINE = InnoDB;
