"""What is known before speculation is tried; None is for what is not."""

from dataclasses import dataclass
from enum import StrEnum

from draftboard.plan.bounds import within
from draftboard.plan.memory import Gpus, Model
from draftboard.plan.tokenizer import Vocabulary


class Slo(StrEnum):
    """The promise that users judge the service by."""

    TTFT = "ttft"
    TPOT = "tpot"
    THROUGHPUT = "throughput"


@dataclass(frozen=True)
class Situation:
    """The models, the GPUs, the traffic and the promise."""

    method: str
    target: Model | None = None
    draft: Model | None = None
    gpus: Gpus | None = None
    same_family: bool | None = None
    target_vocabulary: Vocabulary | None = None
    draft_vocabulary: Vocabulary | None = None
    target_vocab_size: int | None = None
    """The `vocab_size` of config.json, which vLLM compares; it may be padded beyond the tokenizer's."""
    draft_vocab_size: int | None = None
    cost_ratio: float | None = None
    """Measured: time of drafting one token over one target step."""
    temperature: float | None = None
    """Median of production."""
    temperature_varies: bool | None = None
    validated_temperature: float | None = None
    """Temperature at which acceptance was measured."""
    consistent_batch: bool | None = None
    long_context_tight: bool | None = None
    """Whether long contexts already fill the KV cache."""
    slo: Slo | None = None
    monitored: bool | None = None

    def __post_init__(self) -> None:
        """Raise DraftboardError for numbers that nobody can have measured."""
        bounds = {
            "temperature": (self.temperature, 0, 100),
            "validated temperature": (self.validated_temperature, 0, 100),
            "cost ratio": (self.cost_ratio, 0, 10),
            "target vocab size": (self.target_vocab_size, 1, 1e9),
            "draft vocab size": (self.draft_vocab_size, 1, 1e9),
        }
        for name, (value, least, most) in bounds.items():
            if value is not None:
                within(name, value, least, most)
