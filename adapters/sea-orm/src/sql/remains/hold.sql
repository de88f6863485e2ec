-- Notes that requests are worked on again: a repair on another node of a cluster meets what was written, and not what was locked.
UPDATE claimstream_notification_request
   SET changed_at = {now}
 WHERE id IN (:ids)
