-- The segments that a user is in.
SELECT segment
  FROM claimstream_directory_member
 WHERE user_id = :user
 ORDER BY segment
 LIMIT :limit
