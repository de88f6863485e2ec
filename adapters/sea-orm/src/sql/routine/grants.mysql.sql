-- Who may call or change the routine by a grant on it, other than this user: the table of MySQL, whose rows go with the routine.
SELECT CONCAT(QUOTE(User), '@', QUOTE(Host)) AS grantee, CAST(Proc_priv AS CHAR) AS rights
  FROM mysql.procs_priv
 WHERE Db = DATABASE() AND Routine_name = 'claimstream_enqueue' AND Routine_type = 'PROCEDURE'
   AND CONCAT(User, '@', Host) <> CURRENT_USER()
