
-- What operators have done, a row for each action, written before it is done.
CREATE TABLE IF NOT EXISTS claimstream_audit (
  number       BIGINT            NOT NULL AUTO_INCREMENT,
  noted_at     DATETIME(6)       NOT NULL COMMENT 'UTC',
  actor        VARBINARY(64)     NOT NULL,
  action       VARBINARY(32)     NOT NULL COMMENT 'a word, such as pause or purge',
  subject      VARBINARY(200)    NOT NULL,
  affected     BIGINT            NULL COMMENT 'how many it is done to, if that is known',
  PRIMARY KEY (number),
  KEY age (noted_at)
) ENGINE = InnoDB;
