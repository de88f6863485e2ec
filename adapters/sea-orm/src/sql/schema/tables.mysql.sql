-- The tables and views that are there, and how many rows each has by the server's statistics.
SELECT TABLE_NAME AS name, TABLE_ROWS AS estimate
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = DATABASE()
   AND TABLE_NAME LIKE 'claimstream\_%'
