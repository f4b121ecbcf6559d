"""The JSON of each command: the object that it is made of, and the JSON Schema that describes it."""

import importlib

from draftboard import output

RESULTS = {
    "report": "draftboard.report:schema",
    "report --summary": "draftboard.report.summary:Summary",
    "explain": "draftboard.explain:Explanation",
    "doctor": "draftboard.doctor:Diagnosis",
    "compare": "draftboard.compare:Comparison",
    "sweep": "draftboard.sweep:Sweep",
    "calibrate": "draftboard.calibrate:Calibration",
    "history": "draftboard.history:History",
    "experiment plan": "draftboard.experiment:Experiment",
    "experiment read": "draftboard.experiment:Result",
    "alerts replay": "draftboard.lab.notified:Outlook",
    "plan k": "draftboard.plan.lengths:DraftLengthPlan",
    "plan schedule": "draftboard.plan.schedule:SchedulePlan",
    "plan cost": "draftboard.plan.cost:CostPlan",
    "plan vram": "draftboard.plan.vram:VramPlan",
    "plan decide": "draftboard.plan.decide:DecidePlan",
    "signals": "draftboard.build:Inventory",
    "replay": "draftboard.lab.replay:Story",
    "drill": "draftboard.lab.drill:Drill",
    "drill --stack": "draftboard.lab.stack_drill:StackDrill",
}
"""By command: the class of its result, or the function that writes its schema."""


def schema_of(command: str) -> str:
    """The JSON Schema of what a command prints with `--json`."""
    module, _, name = RESULTS[command].partition(":")
    result = getattr(importlib.import_module(module), name)
    text: str = output.schema(result) if isinstance(result, type) else result()
    return text
