-- Publishes a version, if its number follows that of the newest one.
INSERT INTO claimstream_template_version (template_id, number, content, restores, publication, published_at)
SELECT :template, :number, :content, :restores, :publication, {now}
  FROM (SELECT COALESCE(MAX(number), 0) AS newest
          FROM claimstream_template_version
         WHERE template_id = :template) AS last
 WHERE last.newest = :number - 1
