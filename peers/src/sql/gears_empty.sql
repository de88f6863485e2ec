-- Nothing is left but the schema, which the library's own migration has made.
SET FOREIGN_KEY_CHECKS = 0;
TRUNCATE TABLE toolkit_outbox_incoming;
TRUNCATE TABLE toolkit_outbox_outgoing;
TRUNCATE TABLE toolkit_outbox_body;
TRUNCATE TABLE toolkit_outbox_dead_letters;
TRUNCATE TABLE toolkit_outbox_trace;
TRUNCATE TABLE toolkit_outbox_processor;
TRUNCATE TABLE toolkit_outbox_vacuum_counter;
TRUNCATE TABLE toolkit_outbox_partitions;
SET FOREIGN_KEY_CHECKS = 1;
