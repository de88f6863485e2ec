-- For a change of a table: behind one that waits for open transactions all others wait. A second is the shortest there is.
SET SESSION lock_wait_timeout = 1
