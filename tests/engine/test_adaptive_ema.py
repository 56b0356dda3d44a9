"""With ``sglang-ema`` as policy the server takes the very steps of stock ``--speculative-adaptive``."""


def test_same_chains_as_the_stock_rule(recording):
    """Same requests, same ladder: the verified chains of every round are identical, switches included."""
    ours, stock = recording("ours-ema"), recording("adaptive")
    assert ours.outputs == stock.outputs == recording("plain").outputs
    assert len(stock.widths) >= 3
    assert ours.batches == stock.batches


def test_server_info_shows_the_plugin(recording):
    """The state is there for everybody to see, and says that the hooks are live."""
    state = recording("ours-ema").server_info["internal_states"][0]["adaptive_depth"]
    assert state["active"] is True and state["counts"]["rounds"] > 50
    assert "adaptive_depth" not in recording("adaptive").server_info["internal_states"][0]
