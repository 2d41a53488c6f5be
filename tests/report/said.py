"""What a report says."""


def sentences(report):
    """All that a report says outside its tables and figures."""
    blocks = [b for s in report.sections for p in s.parts for b in p.blocks if isinstance(b, str)]
    return " ".join([*report.notes, *(n for s in report.sections for n in s.notes), *blocks])
