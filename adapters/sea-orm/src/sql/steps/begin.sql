-- Begins a step; one that is there stays as it is, and is locked for writing at once, so that no call that finds it has to
-- ask for a stronger lock later.
INSERT INTO claimstream_step (scope, run, step, state, version, origin, fingerprint, result, created_at, changed_at)
VALUES (:scope, :run, :step, :state, 1, :origin, :fingerprint, :result, {now}, {now})
{or_update scope, run, step} version = version
