-- The routine for other programs as it stands, if it is there: its text, which not every user may read, and whether this user made it.
SELECT ROUTINE_DEFINITION AS body, DEFINER = CURRENT_USER() AS is_own
  FROM information_schema.ROUTINES
 WHERE ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME = 'claimstream_enqueue' AND ROUTINE_TYPE = 'PROCEDURE'
