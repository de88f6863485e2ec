-- A page of attempts, by message, and which of them have lost their message before the sweep's bound.
SELECT a.message_id, (m.id IS NULL AND a.began_at < {moment :bound}) AS is_orphan
  FROM claimstream_notification_attempt a
  LEFT JOIN claimstream_notification_message m ON m.id = a.message_id
 WHERE a.message_id > :after
 ORDER BY a.message_id, a.claim_id, a.call_number
 LIMIT :limit
