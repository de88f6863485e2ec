-- Deletes bodies of finished messages.
DELETE FROM claimstream_message
 WHERE id IN (:ids)
   AND created_at < :now - :keep
