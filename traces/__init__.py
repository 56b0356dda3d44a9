"""Acceptance traces: the vocabulary of records, the store, importers of other formats, synthesis."""
