-- Which of these messages have their bodies still; no other transaction deletes or requeues one of them before this one ends.
SELECT id
  FROM claimstream_message
 WHERE id IN (:ids)
 ORDER BY id
 {for_update}
