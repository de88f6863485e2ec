-- Notes that a user has read the entries that are no newer than a moment, some at a time.
UPDATE claimstream_in_app
   SET is_read = 1
 WHERE user_id = :user
   AND is_read = 0
   AND created_at <= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND
 LIMIT :limit
