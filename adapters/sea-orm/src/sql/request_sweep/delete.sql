-- Deletes requests of which nothing more will come; one that was changed meanwhile is spared.
DELETE FROM claimstream_notification_request
 WHERE id IN (:ids)
   AND changed_at < {moment :bound}
