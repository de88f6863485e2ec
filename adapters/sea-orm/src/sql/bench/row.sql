-- The row.
INSERT INTO claimstream_bench (id, beats)
VALUES (1, 0)
