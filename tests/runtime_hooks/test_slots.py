"""Slots of running requests."""

from hypothesis import given
from hypothesis import strategies as st

from adaptive_depth.runtime_hooks.slots import LOST_ROUNDS, SlotTable


@given(st.lists(st.tuples(st.sets(st.integers(0, 9), max_size=8), st.sets(st.integers(0, 9), max_size=4))))
def test_slots_are_kept_unique_and_few(steps):
    """A request keeps its slot until it is released, nobody shares one, and none is higher than needed."""
    table, held, most = SlotTable(), {}, 0
    for running, ended in steps:
        rids = [str(number) for number in sorted(running)]
        for rid, slot in zip(rids, table.of(rids).tolist(), strict=True):
            assert held.setdefault(rid, slot) == slot
        most = max(most, len(held))
        assert len(set(held.values())) == len(held) == len(table)
        assert all(slot < most for slot in held.values())
        gone = [str(number) for number in ended]
        assert sorted(table.release(gone)) == sorted(held.pop(rid) for rid in gone if rid in held)
        assert set(table._seen) == set(held), "what is released is not remembered"


def test_a_request_that_is_never_seen_again_is_lost():
    """It ended where no hook looks; after a while its slot is free again."""
    table = SlotTable()
    table.of(["gone", "here"])
    lost = [rid for _ in range(LOST_ROUNDS + 300) for rid in (table.of(["here"]), table.lost())[1]]
    assert set(lost) == {"gone"}
    assert table.release(["gone"]) == [0] and "gone" not in table and table.lost() == []
