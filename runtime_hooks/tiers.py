"""Which depths and windows a launch really has: the policy file and SGLang's own flags put together."""

from __future__ import annotations

from dataclasses import dataclass

from adaptive_depth.controller.default_candidates import default_candidates
from adaptive_depth.controller.policy_file import CandidatesPart, PolicyFile
from adaptive_depth.policies.types import Candidates
from adaptive_depth.traces.errors import ConfigError

#: Every tier has its own buffers and graphs on the server; unless a policy file says otherwise, five at most.
DEFAULT_TIERS = (0, 1, 3, 5, 7)


@dataclass(frozen=True, slots=True)
class LaunchFlags:
    """SGLang's own flags, ``None`` where not given: start depth, deepest tier + 1, default window, sink."""

    num_steps: int | None = None
    num_draft_tokens: int | None = None
    window: int | None = None
    sink: int | None = None

    @property
    def deepest(self) -> int | None:
        """Deepest tier allowed.

        SGLang wants ``--speculative-num-draft-tokens`` beside ``--speculative-num-steps``, as steps + 1 for a
        chain; so only a larger number says anything.
        """
        tokens = self.num_draft_tokens
        return None if tokens is None or tokens - 1 <= (self.num_steps or 0) else tokens - 1


def launched_policy(file: PolicyFile, flags: LaunchFlags, *, extend: bool = True) -> PolicyFile:
    """``file`` with its candidates settled for this launch; :class:`ConfigError` where the two contradict.

    Without ``extend`` the draft's backend cannot window draft-extend.
    """
    part = _part(file)
    depths, start = _depths(file, part, flags)
    windows, start_window = _windows(part, flags)
    settled = CandidatesPart(
        depths=depths,
        windows=windows,
        sink=_sink(part, flags),
        start_depth=start,
        start_window=start_window,
        extend_window=extend and (any(windows) if part.extend_window is None else part.extend_window),
    )
    settled.candidates()
    return PolicyFile.model_validate(
        file.model_dump(exclude_unset=True) | {"candidates": settled.model_dump()}
    )


def _part(file: PolicyFile) -> CandidatesPart:
    """The file's candidates; without any, the ones that the rule itself implies."""
    if file.candidates is not None:
        return file.candidates
    own, usual = default_candidates(file.config()), Candidates()
    given: dict[str, object] = {}
    if file.policy == "sglang-ema":
        given["depths"] = own.depths
    if own.start_depth != usual.start_depth:
        given["start_depth"] = own.start_depth
    if own.windows != usual.windows:
        given |= {"windows": own.windows, "start_window": own.start_window}
    return CandidatesPart.model_validate(given)


def _depths(file: PolicyFile, part: CandidatesPart, flags: LaunchFlags) -> tuple[tuple[int, ...], int]:
    """Tiers and start depth."""
    start = flags.num_steps if flags.num_steps is not None else part.start_depth
    if flags.num_draft_tokens is not None and flags.num_draft_tokens <= (flags.num_steps or 0):
        raise ConfigError(
            f"--speculative-num-draft-tokens {flags.num_draft_tokens} leaves no room for "
            f"--speculative-num-steps {flags.num_steps}: pass {(flags.num_steps or 0) + 1} or more"
        )
    if "depths" in part.model_fields_set:
        depths = part.depths
        start = part.candidates().start_depth if start is None else start
        if start not in depths:
            raise ConfigError(
                f"--speculative-num-steps {start} is not among the policy's depths {depths}: "
                "pass one of them, or add it to the policy file"
            )
    else:
        start = 3 if start is None else start
        depths = _default_depths({start, *_fixed(file)}, flags.deepest)
    if flags.deepest is not None and depths[-1] > flags.deepest:
        raise ConfigError(
            f"the policy's depth {depths[-1]} is wider than the launch: --speculative-num-draft-tokens "
            f"{flags.num_draft_tokens} allows {flags.deepest}; pass {depths[-1] + 1} or drop the depth"
        )
    return depths, start


def _fixed(file: PolicyFile) -> set[int]:
    """Depths the rule cannot do without."""
    depth = file.parameters.get("depth")
    return {depth} if isinstance(depth, int) else set()


def _default_depths(needed: set[int], deepest: int | None) -> tuple[int, ...]:
    """At most five tiers, 0 and the needed ones among them, the others as evenly spread as they come."""
    limit = max(DEFAULT_TIERS) if deepest is None else deepest
    limit = max(limit, *needed)
    depths = {0, *needed} | ({limit} if deepest is not None else set())
    spare = [depth for depth in DEFAULT_TIERS if depth <= limit and depth not in depths]
    # Drop first what lies next to a needed tier: it adds least.
    spare.sort(key=lambda depth: min(abs(depth - other) for other in depths - {0} or depths), reverse=True)
    return tuple(sorted({*depths, *spare[: max(len(DEFAULT_TIERS) - len(depths), 0)]}))


def _windows(part: CandidatesPart, flags: LaunchFlags) -> tuple[tuple[int, ...], int]:
    """Windows and the one to start with."""
    if flags.window is None:
        return part.windows, part.start_window if part.start_window is not None else part.windows[0]
    if "windows" not in part.model_fields_set:
        return (flags.window,), flags.window
    if flags.window not in part.windows:
        raise ConfigError(
            f"--speculative-draft-window-size {flags.window} is not among the policy's windows "
            f"{part.windows}: pass one of them, or add it to the policy file"
        )
    return part.windows, flags.window


def _sink(part: CandidatesPart, flags: LaunchFlags) -> int:
    if flags.sink is None or flags.sink == part.sink:
        return part.sink
    if "sink" in part.model_fields_set:
        raise ConfigError(
            f"--speculative-draft-sink-size {flags.sink} contradicts the policy's sink {part.sink}: "
            "make them equal, or drop one"
        )
    return flags.sink
