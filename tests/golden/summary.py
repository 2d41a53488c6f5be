"""What a folder of campaigns holds, as data that can be compared: no path, time or version in it."""

from versionspace import store


def summary(folder):
    """Each campaign's labels and rounds."""
    return [
        {
            "method": record.method,
            "seed": record.seed,
            "ended": record.ended,
            "spent": record.spent,
            "budget": record.budget,
            "classes": list(record.classes),
            "labels": {str(i): label.name for i, label in record.state.labels.items()},
            "rounds": [
                {
                    "number": one.number,
                    "labels": one.labels,
                    "purpose": one.purpose,
                    "asked": list(map(str, one.asked)),
                    "utilities": list(one.utilities),
                    "metrics": record.state.measured_events[one.number].body
                    if one.number in record.state.measured_events
                    else None,
                }
                for one in record.rounds
            ],
        }
        for record in [store.read_campaign(one) for one in store.campaigns(folder) if one.ledger.exists()]
    ]
