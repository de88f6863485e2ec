-- Changes a step that is still as it was read; its version always grows, so a row that is met is a row that is changed.
UPDATE claimstream_step
   SET state      = :state,
       version    = version + 1,
       origin     = :origin,
       result     = COALESCE(:result, result),
       changed_at = {now}
 WHERE scope = :scope
   AND run = :run
   AND step = :step
   AND version = :version
   AND state = :from_state
