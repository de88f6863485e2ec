-- A task is deleted when its handler has succeeded.
SELECT 1 FROM fang_tasks LIMIT 1
