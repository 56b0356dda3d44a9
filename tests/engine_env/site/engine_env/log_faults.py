"""Breaks the decision log of a server under test: ``CPU_ENGINE_LOG_FAULT=1``.

First the disk is full from the tenth write on; once forty records were lost to it, the writer's thread dies.
"""

import errno


def break_log():
    """Replace what writes, in this process."""
    from adaptive_depth.runtime_hooks import decision_log, log_parts

    append, line, writes = log_parts.LogParts.append, decision_log.DecisionLog._line, []

    def failing_append(self, lines):
        writes.append(lines)
        if len(writes) >= 10:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, lines)

    def dying_line(self, event):
        if self.dropped >= 40:
            raise RuntimeError("the log thread dies")
        return line(self, event)

    log_parts.LogParts.append, decision_log.DecisionLog._line = failing_append, dying_line
