-- Notifications that are on their way and have not changed for a while, with the message that carries each: its own, or that of its digest.
SELECT m.id, m.request_id, COALESCE(i.digest_id, m.id) AS carrier
  FROM claimstream_notification_message m
  LEFT JOIN claimstream_digest_item i ON i.id = m.id
 WHERE m.id > :after
   AND m.status = 'PENDING'
   AND m.changed_at < {now} - {span :quiet}
 ORDER BY m.id
 LIMIT :limit
