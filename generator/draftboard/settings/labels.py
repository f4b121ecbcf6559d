"""Label names: those that users can choose, and those that are taken."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from draftboard.catalogue import CATALOGUE
from draftboard.catalogue.dialects import DIALECTS
from draftboard.files import Table
from draftboard.settings.fields import written

_METRICS = (*CATALOGUE, *(metric for dialect in DIALECTS.values() for metric in dialect.own))
SERIES_LABELS = frozenset(
    [label for metric in _METRICS for part in metric.parts for label in part.own_labels]
    + [label for dialect in DIALECTS.values() for label in dialect.own_labels]
)
"""Labels that series have of their own, in any dialect."""
ADDED_LABELS = frozenset(
    (
        "Health",
        "Model",
        "about",
        "accepted",
        "age",
        "Name",
        "ago",
        "alike",
        "basis",
        "before",
        "context",
        "drafts",
        "high",
        "identity",
        "joined",
        "latency",
        "least",
        "link",
        "low",
        "more",
        "next",
        "next_k",
        "of",
        "page",
        "percentile",
        "reached",
        "release",
        "series",
        "share",
        "slo",
        "state",
        "symptom",
        "times",
        "why",
    )
)
"""Labels that expressions add to what they read."""
VARIABLES = frozenset(
    {"baseline", "baseline_variant", "datasource", "draft_cost", "lines"} | {"price", "slo", "verify_inflation"}
)
"""Variables of dashboards besides those that filter by a label, which have its name."""
RESERVED_LABELS = SERIES_LABELS | ADDED_LABELS | VARIABLES


def _free(value: str) -> str:
    if value in RESERVED_LABELS:
        raise ValueError("is a label name that records, vLLM or dashboards use themselves: choose another")
    return value


LabelKey = Annotated[
    str, written(r"(?!__)[a-zA-Z_]\w*", "must be a label name: letters, digits and _, not starting with a digit or __")
]
LabelName = Annotated[LabelKey, AfterValidator(_free)]


class Labels(Table):
    """Label names, as they arrive in Prometheus. Rename them here if relabelling renamed them there."""

    scope: tuple[LabelName, ...] = Field(default=("cluster", "namespace"), strict=False, max_length=8)
    """Labels of a scope wider than a job. Every record keeps them; they may be absent. Dashboards have a variable for
    each: beside the others if the settings list other labels than the default, otherwise in the menu of the
    controls."""
    together: tuple[LabelName, ...] = Field(default=(), strict=False)
    """Target labels by which servers of one model may differ and are still added up, such as a zone. By any other
    label, reports keep them apart, and history and summaries, which read records, withhold their figures."""
    job: LabelName = "job"
    instance: LabelName = "instance"
    model_name: LabelName = "model_name"
    engine: LabelName = "engine"
    spec_method: LabelName = "spec_method"
    """Target label set by the user: vLLM does not export the drafting method."""
    variant: LabelName = "variant"
    """Target label set by the user: one side of an A/B comparison."""
    scale_to_zero: LabelName = "scale_to_zero"
    """Target label set by the user, with any value, on servers whose absence is normal."""
    spec_verification: LabelName = "spec_verification"
    """Target label set by the user on servers that may verify fewer tokens than they draft: see methods.adaptive."""
    host: LabelName = "host"
    """Optional target label of vLLM and of the GPU exporter that names the machine. Default: `instance` without its
    port."""

    @property
    def widest(self) -> tuple[str, ...]:
        """The widest label of the scope: what one Prometheus sends."""
        return self.scope[:1]

    @property
    def target(self) -> tuple[str, ...]:
        """Labels that identify a scraped server."""
        return (*self.scope, self.job, self.instance)

    @property
    def variant_labels(self) -> tuple[str, ...]:
        """Labels that tell variants of a model apart: how their servers draft."""
        return (self.spec_method, self.variant, self.spec_verification)

    @property
    def filters(self) -> tuple[str, ...]:
        """Labels that dashboards filter by, each with a variable of its name."""
        return (*self.scope, self.job, self.instance, self.model_name, self.engine, self.spec_method, self.variant)

    @property
    def target_series(self) -> tuple[str, ...]:
        """Labels that every series of a scraped server carries."""
        return (*self.target, *self.variant_labels)

    @property
    def engine_level(self) -> tuple[str, ...]:
        """Labels that a record of an engine keeps."""
        return (*self.target, self.model_name, self.engine, *self.variant_labels)

    @property
    def model_level(self) -> tuple[str, ...]:
        """Labels that a record of a model keeps."""
        return (*self.scope, self.job, self.model_name, *self.variant_labels)

    def of_level(self, level: str) -> tuple[str, ...]:
        """Labels that a record keeps whose name begins with this level."""
        kept = {
            # The model of a target is known once the server has answered.
            "target": (*self.target, self.model_name, *self.variant_labels),
            "engine": self.engine_level,
            "model": self.model_level,
            "service": (*self.scope, self.job, self.model_name),  # A model, however its servers draft.
            "host": (*self.scope, self.host),
            "monitor": self.target,  # A part of the monitoring itself.
            "scope": self.widest,
            "fleet": (),
        }
        return kept[level]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = (*self.engine_level, self.host, self.scale_to_zero)
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"names the label {repeated[0]!r} twice: every label needs a name of its own")
        return self


class ExportedLabels(Labels):
    """Those that Prometheus and vLLM give every series, whatever the scrape configuration adds."""

    scope: tuple[LabelName, ...] = ()

    @property
    def variant_labels(self) -> tuple[str, ...]:
        """None: vLLM does not export how it drafts."""
        return ()

    @property
    def filters(self) -> tuple[str, ...]:
        """Labels that dashboards filter by."""
        return (self.job, self.instance, self.model_name, self.engine)

    @classmethod
    def of(cls, labels: Labels) -> Self:
        """Under the names of these."""
        return cls(**{**labels.model_dump(), "scope": ()})
