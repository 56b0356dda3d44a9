"""SGLang meta_info: histograms and ordered lists, and the identities that tie them to the counters."""

import json

import pytest

NAME = "sglang-meta"
#: The example of SGLang PR 33518.
WORKED = {
    "id": "r1",
    "completion_tokens": 106,
    "spec_verify_ct": 43,
    "spec_num_correct_drafts": 63,
    "spec_num_proposed_drafts": 215,
    "spec_accept_length": 106 / 43,
    "spec_accept_rate": 63 / 215,
    "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3],
}


def test_the_worked_example_satisfies_every_identity(source):
    """106 tokens in 43 rounds of depth 5 with 63 correct drafts: AL 2.465, rate 0.293, proposed 215."""
    ((header, block),) = source.sets([WORKED], NAME).values()
    rounds, correct = len(block.accepted), int(block.accepted.sum())
    assert (rounds, correct, int(block.depth.sum())) == (43, 63, 215)
    assert (correct + rounds) / rounds == pytest.approx(2.465, abs=5e-4)
    assert correct / block.depth.sum() == pytest.approx(0.293, abs=5e-4)
    assert int(block.emitted.sum()) == 106 == int(block.output_tokens[0])
    assert not header.ordered and header.k_max == 5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spec_verify_ct": 44}, "spec_verify_ct is 44"),
        ({"spec_num_correct_drafts": 62}, "spec_num_correct_drafts is 62"),
        ({"spec_num_proposed_drafts": 214}, "spec_num_proposed_drafts is 214"),
        ({"spec_num_proposed_drafts": 172}, "accepts 5 drafts of 4"),
        ({"completion_tokens": 300, "spec_accept_length": 300 / 43}, "the rounds commit 106 at most"),
        ({"completion_tokens": 60, "spec_accept_length": 60 / 43}, "lie behind the last"),
        ({"spec_accept_length": 3.4}, "spec_accept_length is 3.4"),
        ({"spec_accept_length": float("nan")}, "spec_accept_length is nan"),
        ({"spec_verify_ct": True}, "spec_verify_ct is True"),
        ({"spec_verify_ct": 43.5}, "spec_verify_ct is 43.5"),
        ({"spec_correct_drafts_histogram": [0, 0]}, "is empty"),
        ({"spec_correct_drafts_histogram": []}, "is empty"),
        ({"spec_correct_drafts_histogram": [-1, 44]}, "spec_correct_drafts_histogram[0] is -1"),
        ({"spec_correct_drafts_histogram": [10**12]}, "the limit of one request"),
        ({"spec_correct_drafts_histogram": None}, "without a histogram"),
    ],
)
def test_a_record_that_breaks_an_identity_is_named_not_averaged(source, change, reason):
    """The counter that is wrong stands in the message; the sound record beside it is all that is imported."""
    imported = source.read([WORKED, WORKED | change], NAME)
    assert sum(block.requests for _, block in imported.traces) == 1
    (problem,) = imported.problems
    assert problem.line == 2 and reason in problem.reason


def test_completion_may_hold_the_token_that_prefill_sampled(source):
    """One token more than the rounds commit: the first round starts at position 1."""
    more = WORKED | {"completion_tokens": 107, "spec_accept_length": 107 / 43}
    block = source.block([more], NAME)
    assert block.position[0] == 1 and int(block.output_tokens[0]) == 107 and int(block.emitted.sum()) == 106


def test_the_printed_rate_is_never_trusted(source):
    """Whatever the rate says, what is stored comes from the counts."""
    blocks = [source.block([WORKED | {"spec_accept_rate": rate}], NAME) for rate in (0.29, 1.7, float("nan"))]
    assert len({bytes(block.accepted) for block in blocks}) == 1


@pytest.mark.parametrize("indent", [None, 2])
def test_every_way_to_file_a_response(source, indent):
    """Bare, in meta_info, a chat response or sglext, as lines, document or list: the same."""
    counts = {k: v for k, v in WORKED.items() if k not in ("id", "completion_tokens")}
    usage = {"usage": {"completion_tokens": 106}}
    forms = [
        WORKED,
        {"text": "x", "meta_info": WORKED},
        {"id": "r1", "choices": [{"index": 0, "meta_info": counts}]} | usage,
        {"id": "r1", "choices": [], "sglext": {"spec_tokens_details": counts}} | usage,
        {"request_index": "r1", "full_response": {"choices": [{"meta_info": WORKED}]}},
    ]
    wanted = source.block([WORKED], NAME)
    for content in [*([form] for form in forms), *(json.dumps([form], indent=indent) for form in forms)]:
        block = source.block(content, NAME)
        assert block.accepted.tolist() == wanted.accepted.tolist() and block.request_id == ("r1",)
        assert block.output_tokens.tolist() == [106]
    assert source.block(json.dumps(forms, indent=indent), NAME).requests == len(forms)


def test_older_names_mean_the_same(source):
    """spec_accept_histogram, spec_accept_token_num, spec_draft_token_num: names of older versions."""
    old = {
        "spec_verify_ct": 43,
        "spec_accept_token_num": 63,
        "spec_draft_token_num": 215,
        "spec_accept_histogram": WORKED["spec_correct_drafts_histogram"],
    }
    assert source.block([old], NAME).depth.tolist() == [5] * 43


def test_statistics_repeated_beside_each_other_count_once(source):
    """A response that gives the same counts under two names holds one request."""
    assert source.block([{"meta_info": WORKED, "sglext": WORKED}], NAME).requests == 1


def test_usage_of_several_choices_belongs_to_none(source):
    """With two choices the response's token count is their sum, so neither is checked against it."""
    choices = [{"index": i, "meta_info": {"spec_correct_drafts_histogram": [1, i]}} for i in (1, 2)]
    block = source.block([{"choices": choices, "usage": {"completion_tokens": 8}}], NAME)
    assert block.output_tokens.tolist() == [3, 5]


def test_ordered_lists_keep_their_order_and_drop_the_bonus(source):
    """verify_lengths and accept_lengths count the bonus row; depth may change from round to round."""
    lists = {"verify_lengths": [6, 6, 3], "accept_lengths": [2, 4, 2]}
    record = {"meta_info": {"completion_tokens": 8, "spec_verify_ct": 3, "speculative_decoding_stats": lists}}
    header, block = source.sets([record], NAME)["-rounds"]
    assert header.ordered and block.accepted.tolist() == [1, 3, 1] and block.depth.tolist() == [5, 5, 2]
    assert block.position.tolist() == [0, 2, 6]


def test_rate_of_an_adaptive_run_uses_the_depth_that_was_drafted(source):
    """Where the depth changes, the rate is Σ accepted / Σ depth used, not over the launch width."""
    lists = {"verify_lengths": [8, 8, 2, 2], "accept_lengths": [3, 2, 2, 2]}
    block = source.block([{"speculative_decoding_stats": lists}], NAME)
    assert block.accepted.sum() / block.depth.sum() == pytest.approx(5 / 16)


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ({"verify_lengths": [6], "accept_lengths": [2, 3]}, "2 accept_lengths, but 1 verify_lengths"),
        ({"verify_lengths": [3], "accept_lengths": [5]}, "accepts 4 drafts of 2"),
        ({"verify_lengths": [3], "accept_lengths": [0]}, "accept_lengths[0] is 0"),
        ({"verify_lengths": [], "accept_lengths": []}, "accept_lengths is empty"),
        ({"verify_lengths": [3], "accept_lengths": [2], "num_accepted_draft_tokens": 2}, "is 2, but"),
    ],
)
def test_ordered_lists_that_cannot_be_true(source, lists, reason):
    """Unequal, part above whole, or empty: named."""
    (found,) = source.reasons([{"speculative_decoding_stats": lists}], NAME)
    assert reason in found


def test_requests_of_a_benchmark_file(source):
    """bench_serving files list statistics by request; a failed one has none and is passed over."""
    stats = {"mode": "detailed", "verify_lengths": [3, 3], "accept_lengths": [1, 3]}
    rows = [{"request_index": 0, "stats": stats}, {"request_index": 1, "success": False, "stats": None}]
    block = source.block([{"speculative_decoding_stats": {"schema_version": 1, "requests": rows}}], NAME)
    assert block.requests == 1 and block.accepted.tolist() == [0, 2]


def test_accept_length_is_over_rounds_not_requests(source):
    """10 tokens in 10 rounds and 1,000 in 200: 1010 / 210 = 4.81, where an average of requests says 3.0."""
    from adaptive_depth.sim.import_tally import Tally

    slow = {"spec_correct_drafts_histogram": [10], "completion_tokens": 10}
    fast = {"spec_correct_drafts_histogram": [0, 0, 0, 0, 200], "completion_tokens": 1000}
    tally = Tally()
    tally.add(source.block([slow, fast], NAME))
    assert tally.accept_length == pytest.approx(1010 / 210)
    baseline = Tally()
    baseline.add(source.block([slow], NAME))
    assert baseline.accept_length == 1.0


def test_a_response_without_speculation_is_named(source):
    """No counts is not a request of zero rounds."""
    (reason,) = source.reasons([WORKED, {"text": "x", "meta_info": {"completion_tokens": 5}}], NAME)
    assert reason.startswith("2: holds no speculation counts")


def test_temperatures_are_never_mixed(source):
    """A temperature beside the counts splits the set."""
    hot = WORKED | {"sampling_params": {"temperature": 0.7}}
    sets = source.sets([WORKED | {"temperature": 0}, hot], NAME)
    assert sorted(h.temperature for h, _ in sets.values()) == [0.0, 0.7]
