-- Where messages stand, and which providers have accepted them or may have.
SELECT id, status, NULL AS provider
  FROM claimstream_notification_message
 WHERE id IN (:ids)
 UNION ALL
SELECT message_id AS id, NULL AS status, provider
  FROM claimstream_notification_attempt
 WHERE message_id IN (:ids)
   AND acceptance <> 'NOT_ACCEPTED'
