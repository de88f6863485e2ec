-- Deletes bodies of finished messages; one that a revival has stored again since is spared.
DELETE FROM claimstream_message
 WHERE id IN (:ids)
   AND created_at < {moment :bound}
