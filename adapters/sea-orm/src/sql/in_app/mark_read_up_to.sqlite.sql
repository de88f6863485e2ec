-- Notes that a user has read the entries that are no newer than a moment, some at a time.
UPDATE claimstream_in_app
   SET is_read = 1
 WHERE id IN (SELECT id FROM claimstream_in_app WHERE user_id = :user AND is_read = 0 AND created_at <= :bound LIMIT :limit)
