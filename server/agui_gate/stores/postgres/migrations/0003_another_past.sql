-- Which database, and which past of it, the epoch goes on in (standing.py): NULL until the first server has started.
ALTER TABLE epoch ADD COLUMN goes_on_in text;
