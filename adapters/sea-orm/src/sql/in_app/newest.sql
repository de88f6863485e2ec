-- When one of a user's entries was put in.
SELECT {micros created_at} AS created_at
  FROM claimstream_in_app
 WHERE id = :id
   AND user_id = :user
