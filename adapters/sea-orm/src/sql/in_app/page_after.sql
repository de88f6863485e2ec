-- A user's next entries, older than one of them.
SELECT e.id, e.user_id, e.request_id, e.content,
       {signed e.is_read} AS is_read, {since e.created_at} AS age
  FROM claimstream_in_app a
  JOIN claimstream_in_app e ON e.user_id = a.user_id
 WHERE a.id = :after
   AND a.user_id = :user
   AND e.is_read <= :most_read
   AND e.created_at <= a.created_at
   AND (e.created_at < a.created_at OR e.id < a.id)
 ORDER BY e.created_at DESC, e.id DESC
 LIMIT :limit
