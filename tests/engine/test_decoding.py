"""Stock SGLang on the CPU is lossless with every drafter, and the tiny models are worth drafting for."""

import pytest

SPECULATIVE = ("nextn", "eagle", "adaptive")


@pytest.mark.parametrize("name", SPECULATIVE)
def test_greedy_tokens_equal_those_without_speculation(recording, name):
    """Drafting never changes an output token."""
    assert recording(name).outputs == recording("plain").outputs


@pytest.mark.parametrize("name", ("nextn", "eagle"))
def test_acceptance_has_mass_everywhere(recording, name):
    """Chains are rejected at once, accepted in part and accepted whole, none of them rarely."""
    accepted = recording(name).accepted
    assert set(accepted) == {0, 1, 2, 3}
    assert min(accepted.values()) > 0.05 * accepted.total(), accepted
    assert max(accepted.values()) < 0.6 * accepted.total(), accepted


def test_requests_differ_in_acceptance(recording):
    """One batch holds requests worth drafting deep for and requests that are not."""
    lengths = [meta["spec_accept_length"] for meta in recording("nextn").meta]
    assert max(lengths) > 1.3 * min(lengths), lengths


def test_outputs_are_no_short_loops(recording):
    """The tiny target wanders instead of repeating itself, so a wrong token cannot hide."""
    assert all(len(set(ids)) > len(ids) / 4 for ids in recording("plain").outputs)


def test_verified_chains_agree_with_what_the_server_reports(recording):
    """The chains noted by the stand-in's verify are the server's own acceptance histogram."""
    run = recording("nextn")
    histogram = [
        sum(column) for column in zip(*(m["spec_correct_drafts_histogram"] for m in run.meta), strict=True)
    ]
    assert [run.accepted[count] for count in range(4)] == histogram
    assert set(run.widths) == {4}


def test_stock_adaptive_switches_tiers(recording):
    """The stock rule moves between its tiers within one run."""
    run = recording("adaptive")
    assert len(run.widths) >= 3, run.widths
    assert "Switch adaptive runtime state" in run.log


def test_metrics_count_the_drafts(recording):
    """Prometheus sees speculation."""
    assert "sglang:spec_accept_length" in recording("nextn").metrics
