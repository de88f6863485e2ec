-- Which of these users are known; nobody removes them until the transaction ends.
SELECT user_id
  FROM claimstream_directory_user
 WHERE user_id IN (:users)
 {for_share}
