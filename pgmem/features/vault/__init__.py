"""A vault: a folder of notes in Markdown, kept in step with a store."""
