-- A user's newest entries.
SELECT id, user_id, request_id, content,
       {signed is_read} AS is_read, {since created_at} AS age
  FROM claimstream_in_app
 WHERE user_id = :user
   AND is_read <= :most_read
 ORDER BY created_at DESC, id DESC
 LIMIT :limit
