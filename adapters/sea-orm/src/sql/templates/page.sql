-- A page of the templates, each with the number of its newest version.
SELECT t.template_id AS id, {signed t.revision} AS revision, {since t.changed_at} AS age,
       (SELECT {signed MAX(v.number)}
          FROM claimstream_template_version v
         WHERE v.template_id = t.template_id) AS published
  FROM claimstream_template t
 WHERE t.template_id > :after
 ORDER BY t.template_id
 LIMIT :limit
