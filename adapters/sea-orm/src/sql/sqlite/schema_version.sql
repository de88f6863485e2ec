-- The newest version of the tables that has been applied.
SELECT COALESCE(MAX(version), 0) AS version
  FROM claimstream_schema
