-- Which server this is, as replication tells servers apart, and whether it is a node of Galera; a server that cannot be one does not
-- know that name.
SHOW GLOBAL VARIABLES
 WHERE Variable_name IN ('server_id', 'wsrep_on')
