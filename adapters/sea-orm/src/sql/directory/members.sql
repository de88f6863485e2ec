-- A page of the ids in a segment.
SELECT user_id
  FROM claimstream_directory_member
 WHERE segment = :segment
   AND user_id > :after
   {and_text user_id}
 ORDER BY user_id
 LIMIT :limit
