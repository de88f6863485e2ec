-- Which server this is, as replication distinguishes servers, and whether it is a node of Galera or a member of a group; a server that
-- cannot be one does not know these names.
SHOW GLOBAL VARIABLES
 WHERE Variable_name IN ('server_id', 'wsrep_on', 'group_replication_group_name')
