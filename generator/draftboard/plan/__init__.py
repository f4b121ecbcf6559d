"""Planning speculation before it runs: draft length, memory, cost, a schedule by batch size, and whether to try."""

from draftboard.plan import basis, cost, decide, lengths, schedule, theory, vram
