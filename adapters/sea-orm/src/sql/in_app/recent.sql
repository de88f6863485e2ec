-- The newest entries of some users.
SELECT id, user_id, request_id, content,
       {signed is_read} AS is_read, {since created_at} AS age
  FROM claimstream_in_app
 WHERE user_id IN (:users)
   AND created_at >= {now} - {span :within}
 ORDER BY created_at DESC, id DESC
 LIMIT :limit
