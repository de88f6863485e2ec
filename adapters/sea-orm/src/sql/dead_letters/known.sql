-- Which of these messages are dead letters; takes no lock.
SELECT id
  FROM claimstream_dead
 WHERE id IN (:ids)
