-- Takes the routine away where the server cannot replace it: MySQL.
DROP PROCEDURE IF EXISTS claimstream_enqueue
