-- The indexes that are there.
SELECT tbl_name AS on_table, name AS name
  FROM sqlite_master
 WHERE type = 'index'
   AND tbl_name LIKE 'claimstream\_%' ESCAPE '\'
