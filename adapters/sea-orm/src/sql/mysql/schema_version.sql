-- The newest version of the tables that has been applied.
SELECT CAST(COALESCE(MAX(version), 0) AS SIGNED) AS version
  FROM claimstream_schema
