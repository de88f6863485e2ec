-- Forgets notes of sagas.
DELETE FROM claimstream_saga
 WHERE scope = :scope
   AND run IN (:runs)
   AND created_at < {moment :bound}
