-- Which of these users are known; no other transaction removes them until this one ends.
SELECT user_id
  FROM claimstream_directory_user
 WHERE user_id IN (:users)
 {for_share}
