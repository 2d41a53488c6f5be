"""Fuzzing of the HTTP API: no request causes a server error, and every response matches the schema."""

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis", reason="THE API IS NOT FUZZED: pip install schemathesis")

ALL_CHECKS = list(HealthCheck)
WITHOUT_PARAMETERS = ("GET /api/labels.csv", "GET /api/labels.json", "GET /api/classes", "GET /api/review/audit")


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_api(home, service, mode):
    schema = schemathesis.openapi.from_dict(home.app.openapi())
    headers = {"X-Versionspace": "1", "Cookie": f"{home.door.cookie}={home.door.key}"}
    tried = []
    for found in schema.get_all_operations():
        operation = found.ok()
        if mode.is_negative and operation.label in WITHOUT_PARAMETERS:
            continue  # it has no parameters that could be invalid

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=20, deadline=None, database=None, derandomize=True, suppress_health_check=ALL_CHECKS)
        def check(case):
            response = case.call(base_url=home.base, headers=headers)
            assert response.status_code < 500, response.text
            case.validate_response(response, excluded_checks=[schemathesis.checks.CHECKS.get_one("unsupported_method")])

        check()
        tried.append(operation.label)
    assert len(tried) == (18 if mode.is_negative else 22)
    assert {"GET /api/status", "POST /api/answers", "POST /api/check", "POST /api/results"} <= set(tried)
    assert service.state.problems == []
