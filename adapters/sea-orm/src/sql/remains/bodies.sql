-- Which of these messages have their bodies still; nobody deletes or requeues one of them before the transaction ends.
SELECT id
  FROM claimstream_message
 WHERE id IN (:ids)
 ORDER BY id
 {for_update}
