-- Deletes bodies of finished messages; one that was stored anew since, by a revival, is spared.
DELETE FROM claimstream_message
 WHERE id IN (:ids)
   AND created_at < {moment :bound}
