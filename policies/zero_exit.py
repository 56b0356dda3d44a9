"""The way back from depth 0, where nothing is drafted and so nothing is learned.

A sleeping group drafts its shallowest chain now and then: at first after short waits, then as often as a
budget of time allows. Accepted probes are followed up from what the budget has saved. Each probe weighs what
is believed of the group's requests against drafts that are good again (a cumulative log-likelihood ratio that
never falls below 0); once that refutes the belief, the group wakes and the belief is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from adaptive_depth.policies.group_state import GroupState

F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

#: Probes that can be saved up for following up an accepted one.
PROBES_SAVED = 16.0
#: Share of the budget that regular probes use; the rest is saved.
REGULAR = 2 / 3
#: Acceptance of a first draft that is good again.
GOOD = 0.75


class ZeroExit:
    """Sleep, probe and wake of every group.

    ``budget`` is the share of plain decoding's time that probes may take, ``wait_max`` the longest wait in
    rounds, ``wake_below`` the likelihood of the belief, relative to good drafts, that refutes it.
    """

    def __init__(self, budget: float, wait_max: int, wake_below: float) -> None:
        self._budget, self._wait_max = budget, float(wait_max)
        self._refuted = -float(np.log(wake_below))
        self._groups = GroupState(idle=0.0, wait=1.0, saved=0.0, likely=GOOD, doubt=0.0)

    def decide(
        self,
        who: npt.NDArray[Any],
        fresh: Bool,
        first_accepted: F64,
        extra: F64,
    ) -> tuple[Bool, Bool]:
        """Which of the sleeping groups ``who[S]`` probe and which wake, two masks ``[S]``.

        ``fresh`` has just gone to sleep, ``first_accepted`` is the believed chance that any row's first draft
        is accepted, ``extra`` a probe's time over plain decoding as a share of it.
        """
        self._groups.reserve(who)
        due = self._due(who, fresh, extra)
        self._groups["likely"][who[due]] = first_accepted[due]
        woken: Bool = self._groups["doubt"][who] >= self._refuted
        return due & ~woken, woken

    def _due(self, who: npt.NDArray[Any], fresh: Bool, extra: F64) -> Bool:
        state = self._groups
        state["likely"][who[fresh]], state["doubt"][who[fresh]] = GOOD, 0.0  # drafts under way are no probes
        longest = np.minimum(np.maximum(extra / (self._budget * REGULAR), 1.0), self._wait_max)
        idle = np.where(fresh, 0.0, state["idle"][who] + 1.0)
        wait = np.minimum(np.where(fresh, 1.0, state["wait"][who]), longest)
        saved = np.minimum(state["saved"][who] + self._budget * (1 - REGULAR), PROBES_SAVED * extra)
        regular = idle >= wait
        follow = (state["doubt"][who] > 0.0) & (saved >= extra) & ~regular
        due: Bool = regular | follow
        state["idle"][who], state["wait"][who] = np.where(due, 0.0, idle), np.where(regular, 2 * wait, wait)
        state["saved"][who] = saved - np.where(follow, extra, 0.0)
        return due

    def observe(self, who: npt.NDArray[Any], accepted: Bool) -> None:
        """Weigh the probes of the sleeping groups ``who[S]``: whether any row's was accepted."""
        self._groups.reserve(who)
        state = self._groups
        believed = np.minimum(state["likely"][who], GOOD)
        gain = np.where(accepted, np.log(GOOD / believed), np.log((1 - GOOD) / (1 - believed)))
        state["doubt"][who] = np.maximum(state["doubt"][who] + gain, 0.0)

    def state_dict(self) -> dict[str, Any]:
        """Timers by group."""
        return self._groups.state_dict()

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`'s value."""
        self._groups.load_state(state)
