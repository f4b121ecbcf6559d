"""`drill --stack`: outages on a stack that runs, while a part of its monitoring is killed."""

from draftboard.lab.stack_drill.drilling import rehearse
from draftboard.lab.stack_drill.result import StackDrill, document
