-- The indexes that are there.
SELECT DISTINCT TABLE_NAME AS on_table, INDEX_NAME AS name
  FROM information_schema.STATISTICS
 WHERE TABLE_SCHEMA = DATABASE()
   AND TABLE_NAME LIKE 'claimstream\_%'
