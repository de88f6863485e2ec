-- A page of requests that were last changed before the sweep's bound, among the ids from one to another, and of which nothing more
-- will come: all their messages are settled as well, none of them is a dead letter, which may be revived, and none waits in a queue: it
-- would come without a record and be delivered, though it was taken back.
SELECT r.id, r.status
  FROM claimstream_notification_request r
 WHERE r.id > :after
   AND r.id <= :last
   AND r.changed_at < {moment :bound}
   AND r.status NOT IN ('PENDING', 'PROCESSING')
   AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message m
                    WHERE m.request_id = r.id AND (m.status = 'PENDING' OR m.changed_at >= {moment :bound}))
   AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message f
                     JOIN claimstream_dead d ON d.id = f.id
                    WHERE f.request_id = r.id)
   AND NOT EXISTS (SELECT 1 FROM claimstream_notification_message w
                     JOIN claimstream_message b ON b.id = w.id
                    WHERE w.request_id = r.id)
 ORDER BY r.id
 LIMIT :limit
