-- A row to be written again and again.
CREATE TABLE claimstream_bench (
  id     INTEGER NOT NULL PRIMARY KEY,
  beats  BIGINT  NOT NULL
)
