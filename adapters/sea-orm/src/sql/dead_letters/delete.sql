-- Takes dead letters away.
DELETE FROM claimstream_dead
 WHERE id IN (:ids)
