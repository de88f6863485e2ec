-- What a server says of its place among others: whether it takes writes, which server it is, and whether it belongs to a cluster.
SHOW GLOBAL VARIABLES
 WHERE Variable_name IN ('read_only', 'super_read_only', 'innodb_read_only', 'offline_mode', 'hostname', 'port', 'server_id',
                         'server_uuid', 'wsrep_on', 'wsrep_reject_queries', 'wsrep_sync_wait', 'group_replication_group_name',
                         'group_replication_single_primary_mode', 'group_replication_consistency',
                         'rpl_semi_sync_master_enabled', 'rpl_semi_sync_source_enabled')
