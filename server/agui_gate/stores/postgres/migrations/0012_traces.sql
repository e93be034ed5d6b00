-- The trace that an approval's run is part of (W3C traceparent), where traces are made.
ALTER TABLE approvals ADD COLUMN trace text NOT NULL DEFAULT '';
