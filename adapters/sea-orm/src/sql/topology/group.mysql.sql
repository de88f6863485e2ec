-- The members of a Group Replication group as this server sees them. MariaDB has no such table.
SELECT CONCAT(MEMBER_HOST, ':', MEMBER_PORT) AS member, MEMBER_STATE AS state, MEMBER_ROLE AS role,
       MEMBER_ID = @@server_uuid AS is_self
  FROM performance_schema.replication_group_members
