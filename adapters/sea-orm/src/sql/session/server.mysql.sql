-- Which server this is, as replication tells servers apart.
SELECT CAST(@@server_id AS SIGNED) AS server_id
