-- What is known of attempts at messages, by message and from the oldest on.
SELECT message_id, claim_id, call_number, number, provider, {since began_at} AS ago, took, class, acceptance, reason, reference
  FROM claimstream_notification_attempt
 WHERE message_id IN (:ids)
 ORDER BY message_id, began_at, call_number
