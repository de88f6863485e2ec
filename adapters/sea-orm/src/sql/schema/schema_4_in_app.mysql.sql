-- What users read inside the application, one row for each delivered message of the in-app channel.
CREATE TABLE IF NOT EXISTS claimstream_in_app (
  id           BINARY(16)        NOT NULL COMMENT 'the id of the message',
  user_id      VARBINARY(255)    NOT NULL,
  request_id   BINARY(16)        NOT NULL,
  content      MEDIUMBLOB        NOT NULL COMMENT 'JSON',
  is_read      TINYINT UNSIGNED  NOT NULL,
  created_at   DATETIME(6)       NOT NULL,
  PRIMARY KEY (id),
  KEY newest (user_id, created_at, id),
  KEY unread (user_id, is_read, created_at, id),
  KEY age (created_at)
) ENGINE = InnoDB;
