-- Deletes bodies of finished messages.
DELETE FROM claimstream_message
 WHERE id IN (:ids)
   AND created_at < UTC_TIMESTAMP(6) - INTERVAL :keep MICROSECOND
