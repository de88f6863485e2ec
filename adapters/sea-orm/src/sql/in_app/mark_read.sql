-- Notes that a user has read some entries.
UPDATE claimstream_in_app
   SET is_read = 1
 WHERE id IN (:ids)
   AND user_id = :user
   AND is_read = 0
