"""A private Prometheus is taken for ready once its log says so, and where it listens."""

from itertools import permutations

import pytest

from draftboard.prometheus.server import READY

LISTENS = 'level=INFO msg="Listening on" component=web address=127.0.0.1:41275\n'
READIES = 'level=INFO msg="Server is ready to receive web requests."\n'
OTHER = 'level=INFO msg="TLS is disabled." component=web http2=false address=127.0.0.1:41275\n'
ORDERS = list(permutations((LISTENS, READIES, OTHER)))


@pytest.mark.parametrize("lines", ORDERS, ids=["".join(order) for order in permutations("lro")])
def test_a_log_that_says_both_is_ready_in_whichever_order(lines: tuple[str, ...]) -> None:
    found = READY.search("".join(lines))
    assert found
    assert found["address"] == "127.0.0.1:41275"


@pytest.mark.parametrize("log", [LISTENS + OTHER, READIES + OTHER, ""], ids=["deaf", "nowhere", "silent"])
def test_a_log_that_says_only_one_of_both_is_not(log: str) -> None:
    assert not READY.search(log)
