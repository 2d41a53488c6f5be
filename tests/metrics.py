"""Round metrics for tests that need some and care about few of them."""

from versionspace.store import AuditMetrics, RoundMetrics, SetMetrics

__all__ = ["AuditMetrics", "round_metrics", "set_metrics"]


def round_metrics(**changes):
    known = {"labels": 50, "classes": {"cat": 50, "dog": 50}, "fit": 1.0, "consistent": 1.0, "epochs": 30.0,
             "diameter": 0.2, "kappa": None, "audit": None, "votes_sha256": "", "sets": {}}  # fmt: skip
    return RoundMetrics(**known | changes)


def set_metrics(**changes):
    return SetMetrics(**{"images": 100, "pwd": 0.2, "gvd": 0.1, "gvd_hard": 0.1, "agreement": 0.7} | changes)
