"""The notes of a report."""


def all_notes(document):
    """Return all notes of a report as one string: of the document, its chapters and its sections."""
    blocks = [b for c in document.chapters for s in c.sections for b in s.blocks if isinstance(b, str)]
    return " ".join([*document.notes, *(n for c in document.chapters for n in c.notes), *blocks])
