-- Notes that a version of a capability's tables has been applied.
INSERT INTO claimstream_schema (capability, version, applied_at)
VALUES (:capability, :version, {now})
{or_keep version}
