-- Tables of a bench's database that no bench makes.
SELECT COUNT(*) AS strangers
  FROM information_schema.TABLES
 WHERE TABLE_SCHEMA = :name
   AND TABLE_NAME NOT LIKE 'claimstream\_%'
