-- The tables and views that are there; SQLite keeps no numbers of rows.
SELECT name AS name, NULL AS estimate
  FROM sqlite_master
 WHERE type IN ('table', 'view')
   AND name LIKE 'claimstream\_%' ESCAPE '\'
