"""The yardstick: a plain per-round Python loop, one round after another, of the static and marginal rules.

Written as one would write it first: plain floats and lists, one function a step, no NumPy. It books what the
replay books, decides what the product decides (a test compares them round by round), and knows no depth 0,
window or batch.
"""

from __future__ import annotations

import math

PRIOR, OPTIMISM, POOL_WEIGHT, POOL_DECAY = 0.35, 0.95, 20.0, 0.9995
WINDOW_WEIGHT, SHAPE_WEIGHT = 100.0, 400.0
SLOW, FAST, POSITION = 0.99, 0.80, 0.99
SLOW_WEIGHT, FAST_WEIGHT, POSITION_WEIGHT = 16.0, 2.0, 25.0
EVIDENCE_FADE, EVIDENCE_MOST = 0.999, 6.0
YOUNG_ROUNDS, GATHER_ROUNDS = 16, 16
BANDS = (8_192, 32_768, 131_072, 524_288)


def price(cost, depth, context):
    """Seconds of a round of one request with a full window, as ``LinearCost`` has it."""
    total = cost.host + cost.v0 + cost.v1 * (depth + 1) + (cost.v2 + cost.v3 * depth) * context
    if depth or cost.extend_at_zero:
        total += cost.x1 * (depth + 1) + cost.x2 * context + cost.x3 * math.sqrt(context)
    if depth:
        total += cost.spec + (depth - 1) * (cost.f0 + cost.f1 + cost.f2 * context)
    return total


class Static:
    """A fixed depth."""

    def __init__(self, depth):
        self.depth = depth

    def start(self):
        pass

    def plan(self, cost, context):
        return self.depth

    def observe(self, context, depth, accepted):
        pass


class Marginal:
    """Expected tokens over seconds from shrunk, censored counts; moves once the regret of staying is paid."""

    def __init__(self, depths, start, switch_cost=0.04):
        self.depths, self.current, self.switch_cost = depths, depths.index(start), switch_cost
        self.regret, self.k_max, self.rounds, self.waiting = 0.0, depths[-1], 0, []
        self.failures = [[0.0] * self.k_max for _ in range(len(BANDS) + 1)]
        self.exposure = [[0.0] * self.k_max for _ in range(len(BANDS) + 1)]
        self.rows = [0.0] * (len(BANDS) + 1)
        self.evidence, self.trust = 0.0, (0.5, 0.5)
        self.refresh()
        self.start()

    def start(self):
        self.slow, self.fast = [SLOW_WEIGHT, SLOW_WEIGHT], [0.0, FAST_WEIGHT]
        self.failed, self.expected = [0.0] * self.k_max, [POSITION_WEIGHT] * self.k_max
        self.frailty = (1.0, 1.0)

    def refresh(self):
        scale = [r / x[0] if x[0] > 0 else 1.0 for r, x in zip(self.rows, self.exposure, strict=True)]
        counted = [[s * x for x in xs] for s, xs in zip(scale, self.exposure, strict=True)]
        failed = [sum(f) for f in zip(*self.failures, strict=True)]
        exposed = [sum(x) for x in zip(*counted, strict=True)]
        before, base = PRIOR, []
        for f, x in zip(failed, exposed, strict=True):
            before = (f + POOL_WEIGHT * before) / (x + POOL_WEIGHT)
            base.append(before)
            before *= OPTIMISM
        expected = sum(x * h for x, h in zip(exposed, base, strict=True))
        ratio = (sum(failed) + WINDOW_WEIGHT) / (expected + WINDOW_WEIGHT)
        shared = [
            (f + SHAPE_WEIGHT * ratio * h) / (x + SHAPE_WEIGHT)
            for f, x, h in zip(failed, exposed, base, strict=True)
        ]
        self.hazard = [
            [(f + POOL_WEIGHT * h) / (x + POOL_WEIGHT) for f, x, h in zip(fs, xs, shared, strict=True)]
            for fs, xs in zip(self.failures, counted, strict=True)
        ]

    def pool(self):
        fade = POOL_DECAY ** len(self.waiting)
        self.rows = [r * fade for r in self.rows]
        for counts in (self.failures, self.exposure):
            for row in counts:
                for j in range(self.k_max):
                    row[j] *= fade
        self.evidence *= EVIDENCE_FADE ** len(self.waiting)
        for at, reached, rejected, expected, (slow, fast) in self.waiting:
            self.rows[at] += 1.0
            for j in range(reached):
                self.exposure[at][j] += slow * self.trust[0] + fast * self.trust[1]
            if rejected:
                self.failures[at][reached - 1] += 1.0
            slow, fast = max(slow, 0.01), max(fast, 0.01)
            self.evidence += rejected * math.log(fast / slow) - expected * (fast - slow)
        self.evidence = max(-EVIDENCE_MOST, min(EVIDENCE_MOST, self.evidence))
        recent = 1.0 / (1.0 + math.exp(-self.evidence))
        self.trust = (1.0 - recent, recent)
        self.waiting.clear()
        self.refresh()

    def plan(self, cost, context):
        hazard = self.hazard[band(context)]
        frailty = self.frailty[0] * self.trust[0] + self.frailty[1] * self.trust[1]
        survival, expected, tokens = 1.0, 1.0, [1.0]
        for j in range(self.k_max):
            ratio = (frailty * POSITION_WEIGHT + self.failed[j]) / self.expected[j]
            survival *= max(0.01, 1.0 - ratio * hazard[j])
            expected += survival
            tokens.append(expected)
        rates = [tokens[depth] / price(cost, depth, context) for depth in self.depths]
        best = max(range(len(rates)), key=rates.__getitem__)
        self.regret += rates[best] / rates[self.current] - 1.0
        if best == self.current or self.regret >= self.switch_cost:
            self.current, self.regret = best, 0.0
        return self.depths[self.current]

    def observe(self, context, depth, accepted):
        reached, rejected = min(accepted + 1, depth), accepted < depth
        at = band(context)
        hazard = self.hazard[at][:reached]
        self.waiting.append((at, reached, rejected, sum(hazard), self.frailty))
        self.rounds += 1
        self.learn(reached, rejected, hazard)
        if self.rounds <= YOUNG_ROUNDS or len(self.waiting) == GATHER_ROUNDS:
            self.pool()

    def learn(self, reached, rejected, hazard):
        for memory, decay, failed, weight in (
            (self.slow, SLOW, SLOW_WEIGHT, SLOW_WEIGHT),
            (self.fast, FAST, 0.0, FAST_WEIGHT),
        ):
            memory[0] = failed + (memory[0] - failed) * decay + rejected
            memory[1] = weight + (memory[1] - weight) * decay + sum(hazard)
        for j in range(self.k_max):
            self.failed[j] *= POSITION
            self.expected[j] = POSITION_WEIGHT + (self.expected[j] - POSITION_WEIGHT) * POSITION
        for j, expected in enumerate(hazard):
            self.expected[j] += expected
        if rejected:
            self.failed[reached - 1] += 1.0
        slow = self.slow[0] / self.slow[1]
        self.frailty = (slow, (self.fast[0] + FAST_WEIGHT * slow) / self.fast[1])


def band(context):
    """Index of the context band."""
    return sum(context >= edge for edge in BANDS)


def replay(rule, accepted, start, context, cost):
    """Walk every request; return (tokens, rounds, seconds, depth sums, depth histogram)."""
    tokens, rounds, seconds, depths, histogram = [], [], [], [], {}
    for request in range(len(context)):
        position, end, length = start[request], start[request + 1], context[request]
        n_rounds, total, depth_sum, previous, switches = 0, 0.0, 0, -1, 0
        rule.start()
        while position < end:
            depth = rule.plan(cost, length)
            taken = min(accepted[position], depth)
            emitted = min(taken + 1, end - position)
            total += price(cost, depth, length)
            rule.observe(length, depth, taken)
            histogram[depth] = histogram.get(depth, 0) + 1
            switches += depth != previous
            previous = depth
            n_rounds += 1
            depth_sum += depth
            position += emitted
            length += emitted
        tokens.append(end - start[request])
        rounds.append(n_rounds)
        seconds.append(total)
        depths.append(depth_sum)
    return tokens, rounds, seconds, depths, histogram
