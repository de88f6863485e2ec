-- Requests that are being fanned out, or are to be, and have not changed for a while.
SELECT id
  FROM claimstream_notification_request
 WHERE id > :after
   AND status IN ('PENDING', 'PROCESSING')
   AND changed_at < {now} - {span :quiet}
 ORDER BY id
 LIMIT :limit
