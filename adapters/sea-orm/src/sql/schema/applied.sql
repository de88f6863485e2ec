-- Notes that a version of the tables has been applied.
INSERT INTO claimstream_schema (version, applied_at)
VALUES (:version, {now})
{or_keep version}
