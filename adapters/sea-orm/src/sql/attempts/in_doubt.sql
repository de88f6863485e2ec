-- The providers that may have accepted messages and have not said so.
SELECT message_id, provider
  FROM claimstream_notification_attempt
 WHERE message_id IN (:ids)
   AND acceptance = 'UNKNOWN'
