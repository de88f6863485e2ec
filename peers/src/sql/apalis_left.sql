-- A job stays in the table, with its state.
SELECT 1 FROM jobs WHERE status IN ('Pending', 'Queued', 'Running', 'Failed') LIMIT 1
