-- Takes users out of a segment.
DELETE FROM claimstream_directory_member
 WHERE segment = :segment
   AND user_id IN (:users)
