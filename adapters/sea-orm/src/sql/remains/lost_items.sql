-- Pending messages of these requests that wait in a digest whose own message is gone: nothing delivers them any more.
SELECT i.id
  FROM claimstream_notification_message m
  {then_join} claimstream_digest_item i {by_primary} ON i.id = m.id
  LEFT JOIN claimstream_message b ON b.id = i.digest_id
  LEFT JOIN claimstream_dead d ON d.id = i.digest_id
 WHERE m.request_id IN (:ids)
   AND m.status = 'PENDING'
   AND b.id IS NULL
   AND d.id IS NULL
