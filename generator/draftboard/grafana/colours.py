"""Colours by meaning: a panel never chooses one itself."""

from draftboard.status import Status

COLOURS = {
    Status.BAD: "red",
    Status.WARN: "orange",
    Status.GOOD: "green",
    Status.BEST: "blue",
    Status.ODD: "purple",
    Status.QUIET: "super-light-blue",
    Status.NEUTRAL: "text",
}
