-- Databases of benches, of this run or of others.
SELECT SCHEMA_NAME AS name
  FROM information_schema.SCHEMATA
 WHERE SCHEMA_NAME LIKE 'claimstream\_bench\_%'
 ORDER BY SCHEMA_NAME
