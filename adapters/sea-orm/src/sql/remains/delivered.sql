-- Which of these messages a provider has: it has said so, or has said something of them afterwards.
SELECT message_id AS id
  FROM claimstream_notification_attempt
 WHERE message_id IN (:ids)
   AND acceptance = 'ACCEPTED'
 UNION
SELECT message_id
  FROM claimstream_notification_receipt
 WHERE message_id IN (:ids)
