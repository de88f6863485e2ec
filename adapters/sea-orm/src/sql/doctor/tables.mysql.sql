-- The engines of Claimstream's tables as they really are.
SELECT TABLE_NAME AS table_name, ENGINE AS engine
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = DATABASE()
   AND TABLE_TYPE = 'BASE TABLE'
   AND TABLE_NAME LIKE 'claimstream\_%'
