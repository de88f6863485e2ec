-- Keeps a draft. One that says the same as before stays as it is.
INSERT INTO claimstream_template (template_id, revision, draft, changed_at)
VALUES (:template, 1, :draft, {now})
{or_update template_id}
  revision = CASE WHEN draft = :draft THEN revision ELSE revision + 1 END,
  changed_at = CASE WHEN draft = :draft THEN changed_at ELSE {now} END,
  draft = :draft
