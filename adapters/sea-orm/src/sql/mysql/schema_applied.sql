-- Notes that a version of the tables has been applied.
INSERT INTO claimstream_schema (version, applied_at)
VALUES (:version, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE version = version
