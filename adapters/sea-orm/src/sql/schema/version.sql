-- The newest version of the tables that has been applied.
SELECT {signed COALESCE(MAX(version), 0)} AS version
  FROM claimstream_schema
