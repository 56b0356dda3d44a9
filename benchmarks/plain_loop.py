"""The yardstick: a plain per-round Python loop, one round after the other, of the static and the marginal rule.

Written as one would write it first: plain floats and lists, one function a step, no NumPy. It books what the replay books,
decides what the product decides (a test compares them round by round), and knows no depth 0, window or batch.
"""

from __future__ import annotations

import math

K_PRIOR, OPTIMISM, POOL_WEIGHT, POOL_DECAY = 0.35, 0.95, 20.0, 0.9995
SLOW, FAST, WEIGHT, POSITION_WEIGHT = 0.99, 0.90, 8.0, 30.0
YOUNG_ROUNDS, FLUSH_ROUNDS = 16, 8
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
    """Expected tokens over seconds from censored, shrunk counts; switches when the regret of staying is paid."""

    def __init__(self, depths, start, switch_cost=0.05):
        self.depths, self.current, self.switch_cost = depths, depths.index(start), switch_cost
        self.regret, self.k_max, self.rounds, self.waiting = 0.0, depths[-1], 0, []
        self.failures = [[0.0] * self.k_max for _ in range(len(BANDS) + 1)]
        self.exposure = [[0.0] * self.k_max for _ in range(len(BANDS) + 1)]
        self.refresh()
        self.start()

    def start(self):
        self.slow, self.fast = [0.0, 0.0], [0.0, 0.0]
        self.accepted, self.reached = [0.0] * self.k_max, [0.0] * self.k_max
        self.frailty = 1.0

    def refresh(self):
        before, base = K_PRIOR, []
        for j in range(self.k_max):
            failed, exposed = sum(f[j] for f in self.failures), sum(x[j] for x in self.exposure)
            before = (failed + POOL_WEIGHT * before) / (exposed + POOL_WEIGHT)
            base.append((failed + POOL_WEIGHT * before) / (exposed + POOL_WEIGHT))
            before *= OPTIMISM
        self.hazard = [
            [(f + POOL_WEIGHT * h) / (x + POOL_WEIGHT) for f, x, h in zip(fs, xs, base, strict=True)]
            for fs, xs in zip(self.failures, self.exposure, strict=True)
        ]

    def pool(self):
        fade = POOL_DECAY ** len(self.waiting)
        for counts in (self.failures, self.exposure):
            for row in counts:
                for j in range(self.k_max):
                    row[j] *= fade
        for at, reached, rejected, frailty in self.waiting:
            for j in range(reached):
                self.exposure[at][j] += frailty
            if rejected:
                self.failures[at][reached - 1] += 1.0
        self.waiting.clear()
        self.refresh()

    def plan(self, cost, context):
        hazard = self.hazard[band(context)]
        survival, expected, tokens = 1.0, 1.0, [1.0]
        for j in range(self.k_max):
            prior = max(0.01, 1.0 - self.frailty * hazard[j])
            survival *= (self.accepted[j] + POSITION_WEIGHT * prior) / (self.reached[j] + POSITION_WEIGHT)
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
        self.waiting.append((at, reached, rejected, self.frailty))
        self.rounds += 1
        if reached:
            self.learn(reached, rejected, accepted, sum(self.hazard[at][:reached]))
        if self.rounds <= YOUNG_ROUNDS or len(self.waiting) == FLUSH_ROUNDS:
            self.pool()

    def learn(self, reached, rejected, accepted, expected):
        for memory, decay in ((self.slow, SLOW), (self.fast, FAST)):
            memory[0] = memory[0] * decay + rejected
            memory[1] = memory[1] * decay + expected
        for j in range(self.k_max):
            self.accepted[j] = self.accepted[j] * SLOW + (j < accepted)
            self.reached[j] = self.reached[j] * SLOW + (j < reached)
        slow = (self.slow[0] + WEIGHT) / (self.slow[1] + WEIGHT)
        self.frailty = (self.fast[0] + WEIGHT * slow) / (self.fast[1] + WEIGHT)


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
