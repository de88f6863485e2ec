-- Forgets entries of a user, some at a time.
DELETE FROM claimstream_in_app
 WHERE user_id = :user
 LIMIT :limit
