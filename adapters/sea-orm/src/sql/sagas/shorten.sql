-- Shortens notes of sagas: their ids stay, so that none is used a second time.
UPDATE claimstream_saga
   SET owner = '',
       input = ''
 WHERE scope = :scope
   AND run IN (:runs)
   AND created_at < {moment :bound}
