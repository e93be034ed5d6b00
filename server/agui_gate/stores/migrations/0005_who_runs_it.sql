-- An approval says who runs its call: a tool of ours, or the provider that holds it back until somebody agreed. And
-- whether the provider was told so is a state of the record.
ALTER TABLE approvals ADD COLUMN runner TEXT NOT NULL DEFAULT 'here';

-- Both were said by the journal until now: by the kind of the call, and by notes that consent was passed on (and taken
-- back, where the provider had not acted). The notes stay where they are, and mean nothing any more.
UPDATE approvals SET runner = 'provider' WHERE (thread, call_id) IN (
    SELECT journal.thread, json_extract(part.value, '$.id')
    FROM journal, json_each(CAST(journal.body AS TEXT)) AS entry, json_each(entry.value, '$.parts') AS part
    WHERE instr(journal.body, CAST('"held"' AS BLOB)) AND json_extract(part.value, '$.kind') = 'held'
);

UPDATE approvals SET state = 'passed' WHERE state = 'claimed' AND runner = 'provider' AND (thread, call_id) IN (
    SELECT thread, call_id FROM (
        SELECT journal.thread, json_extract(entry.value, '$.call_id') AS call_id,
            coalesce(json_extract(entry.value, '$.back'), 0) AS back,
            row_number() OVER (
                PARTITION BY journal.thread, json_extract(entry.value, '$.call_id')
                ORDER BY journal.seq DESC, entry.key DESC
            ) AS newest
        FROM journal, json_each(CAST(journal.body AS TEXT)) AS entry
        WHERE instr(journal.body, CAST('"passed"' AS BLOB)) AND json_extract(entry.value, '$.type') = 'passed'
    ) WHERE newest = 1 AND NOT back
);
