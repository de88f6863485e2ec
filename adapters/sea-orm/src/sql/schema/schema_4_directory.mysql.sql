
-- Users that notifications are sent to, with their addresses.
CREATE TABLE IF NOT EXISTS claimstream_directory_user (
  user_id       VARBINARY(128)   NOT NULL,
  email         VARBINARY(2048)  NULL,
  phone         VARBINARY(2048)  NULL,
  device_token  VARBINARY(2048)  NULL,
  webhook       VARBINARY(2048)  NULL,
  chat          VARBINARY(2048)  NULL,
  language      VARBINARY(64)    NULL,
  time_zone     VARBINARY(64)    NULL,
  attributes    BLOB             NULL COMMENT 'JSON',
  changed_at    DATETIME(6)      NOT NULL,
  PRIMARY KEY (user_id)
) ENGINE = InnoDB;

-- Segments of users, also those without users.
CREATE TABLE IF NOT EXISTS claimstream_directory_segment (
  segment     VARBINARY(128)  NOT NULL,
  created_at  DATETIME(6)     NOT NULL,
  PRIMARY KEY (segment)
) ENGINE = InnoDB;

-- Which user is in which segment.
CREATE TABLE IF NOT EXISTS claimstream_directory_member (
  segment  VARBINARY(128)  NOT NULL,
  user_id  VARBINARY(128)  NOT NULL,
  PRIMARY KEY (segment, user_id),
  KEY of_user (user_id, segment)
) ENGINE = InnoDB;
