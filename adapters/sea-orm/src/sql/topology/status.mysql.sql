-- How a node of Galera fares, and how many replicas confirm what a source commits.
SHOW GLOBAL STATUS
 WHERE Variable_name IN ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_cluster_size', 'wsrep_cluster_state_uuid',
                         'wsrep_local_state', 'wsrep_local_state_comment', 'wsrep_flow_control_paused',
                         'Rpl_semi_sync_master_clients', 'Rpl_semi_sync_source_clients', 'Slaves_connected')
