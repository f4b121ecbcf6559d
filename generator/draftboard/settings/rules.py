"""How often rules are evaluated, and the windows that they read."""

from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from draftboard.durations import Duration
from draftboard.files import Table
from draftboard.quantity import LOOK_BACK, PACE, RATE_WINDOW, SILENCE, duration
from draftboard.rulers import Ruler
from draftboard.settings.fields import Delay, Positive, Share
from draftboard.settings.objectives import BURN_WINDOWS

Tier = Literal["alerts", "standard", "full"]
TIERS: tuple[Tier, ...] = get_args(Tier)
"""How much is recorded, from the least to the most."""
_DEAREST_PAGE = "latency"
"""Its records are buckets: three quarters as many series a model as those of all other pages."""


def dashboard_uid(page: str, *, raw: bool) -> str:
    """Uid of the dashboard of a page, on records or on raw series."""
    return f"draftboard-{page}" + ("-raw" if raw else "")


class Rules(Table):
    """How the rules are evaluated."""

    scrape_interval: Positive = Duration(15)
    """The scrape interval of vLLM's job in Prometheus."""
    window: Positive | None = Field(default=None, examples=["5m"])
    """Window of every rate: at least four scrapes, so that one may fail. Default: four scrapes, at least 5m."""
    down_after: Positive | None = Field(default=None, examples=["2m30s"])
    """How long a server answers no scrape before it counts as down. Default: two and a half scrapes, at least 2m30s: by
    default Prometheus scrapes once a minute."""
    evaluation_interval: Positive = Duration(60)
    query_offset: Delay = Duration(0)
    """Delay of evaluations behind remote write, where samples arrive late. Requires Prometheus 2.53; vmalert calls it
    eval_delay, and `gmp` has none."""
    compare_with: Positive = Duration(3600)
    """Offset of comparisons with an earlier time."""
    baseline: Positive = Duration(86_400)
    """Range that defines a model's usual values: a day, so that it includes day and night."""
    baseline_needs: Share = 0.25
    """Share of the baseline that must hold samples."""
    baseline_steps: Positive = Duration(3 * 86_400)
    """Range over which step times of a model's baseline are compared with those of speculating servers in like
    batches."""
    remember: Positive = Duration(3600)
    """How long a server or model stays known after its last sample, and the range over which restarts are counted."""
    startup: Positive = Duration(1800)
    """How long a target with a new address may load its model before it counts as down."""
    tier: Tier = "full"
    """What is recorded: all; `standard`, what alerts, runbooks and all pages but that on latency read; or `alerts`,
    what alerts and runbooks read. Other pages read raw series then, and name what these do not show."""
    ruler: Ruler = "prometheus"
    """The program that evaluates the rules: their files are written in its format. `gmp` is Google's Managed
    Service."""

    def recorded_for(self, page: str) -> bool:
        """Whether the tier records what a page reads."""
        return self.tier == "full" or (self.tier == "standard" and page != _DEAREST_PAGE)

    def uid_of(self, page: str) -> str:
        """Uid of the dashboard that shows a page: its edition on raw series where the tier records nothing for it."""
        return dashboard_uid(page, raw=not self.recorded_for(page))

    @property
    def rate_window(self) -> Duration:
        """The window of every rate."""
        return duration(RATE_WINDOW, {"rules": self})

    @property
    def pace(self) -> Duration:
        """How far apart the points of a graph are: no closer than scrapes and evaluations."""
        return duration(PACE, {"rules": self})

    @property
    def silence(self) -> Duration:
        """How long a server answers no scrape before it counts as down."""
        return duration(SILENCE, {"rules": self})

    @property
    def longest_scrape_interval(self) -> Duration:
        """The longest interval of scrapes that the windows fit."""
        fitting = min(self.rate_window.seconds // 4, self.silence.seconds * 2 // 5)
        return max(self.scrape_interval, Duration(fitting))

    @model_validator(mode="after")
    def _windows_hold_enough(self) -> Self:
        scrape, window, evaluation = self.scrape_interval, self.rate_window, self.evaluation_interval
        least, past = scrape * 4, self.compare_with
        mistakes = {
            f"scrape_interval = {scrape} is too long: shorter than {LOOK_BACK}, after which Prometheus treats a "
            "series as gone": scrape >= LOOK_BACK,
            f"window = {window} is too short: at least 4 scrapes, so {least} or longer": window < least,
            f"window = {window} is too long: shorter than {BURN_WINDOWS[0]}, the shortest burn rate's": (
                window >= BURN_WINDOWS[0]
            ),
            f"down_after = {self.down_after} is too short: at least 2 scrapes, so {scrape * 2} or longer": (
                self.silence < scrape * 2
            ),
            f"evaluation_interval = {evaluation} is too long: at most the window, {window}": evaluation > window,
            f"compare_with = {past} is out of range: from evaluation_interval, {evaluation}, to baseline, "
            f"{self.baseline}": not evaluation <= past <= self.baseline,
        }
        if messages := [words for words, wrong in mistakes.items() if wrong]:
            raise ValueError(messages[0])
        return self
