-- The newest version of each capability's tables that has been applied.
SELECT capability, {signed MAX(version)} AS version
  FROM claimstream_schema
 GROUP BY capability
