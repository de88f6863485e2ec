-- Stored messages, handled ones included until they are swept, under the column names of Debezium's outbox event router, for programs
-- that read with SELECT. A server's binary log has changes of tables and none of views, so Debezium itself sees nothing of it.
-- Headers that are no JSON give no type and no trace, and fail no SELECT.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW claimstream_debezium AS
SELECT INSERT(INSERT(INSERT(INSERT(LOWER(HEX(m.id)), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-') AS id,
       CONVERT(m.queue USING utf8mb4)                                            AS aggregatetype,
       COALESCE(CONVERT(m.ordering_key USING utf8mb4),
                INSERT(INSERT(INSERT(INSERT(LOWER(HEX(m.id)), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-')) AS aggregateid,
       COALESCE(CASE WHEN JSON_VALID(CONVERT(m.headers USING utf8mb4))
                     THEN JSON_UNQUOTE(JSON_EXTRACT(CONVERT(m.headers USING utf8mb4), '$.type')) END,
                CONVERT(m.queue USING utf8mb4))                                  AS type,
       m.payload                                                                 AS payload,
       m.created_at                                                              AS timestamp,
       CASE WHEN JSON_VALID(CONVERT(m.headers USING utf8mb4))
            THEN CONCAT('traceparent=', JSON_UNQUOTE(JSON_EXTRACT(CONVERT(m.headers USING utf8mb4), '$.traceparent')))
             END                                                                 AS tracingspancontext
  FROM claimstream_message m
