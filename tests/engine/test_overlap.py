"""The real overlap scheduler on the CPU: feedback comes a round later, the tokens stay."""


def test_overlap_is_really_on(recording):
    """The stand-in's switch reaches the scheduler; without it stock SGLang turns overlap off."""
    assert recording("overlap").server_info["disable_overlap_schedule"] is False
    assert recording("adaptive").server_info["disable_overlap_schedule"] is True


def test_tokens_are_exact(recording):
    """Depth switches while a round is in flight never change an output token."""
    run = recording("overlap")
    assert run.outputs == recording("plain").outputs
    assert len(run.widths) >= 2, run.widths


def test_feedback_is_late(recording):
    """The first switch comes a round later than without overlap, on the same request and chains."""
    assert first_switch(recording("overlap")) == first_switch(recording("adaptive")) + 1


def first_switch(run):
    """Number of rounds before the verify width first changed; the first request runs alone."""
    widths = [len(batch["chains"][0]) for batch in run.batches]
    return next(i for i, width in enumerate(widths) if width != widths[0])
