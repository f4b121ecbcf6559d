"""The nodes of expressions: plain data, compared by value, printed as they are written.

What reads them stands beside: `to_promql`, `to_numbers`, and `reads` for what they depend on. `expanded` replaces
nodes that stand for others.
"""

from draftboard.expr.nodes.conditions import (
    AtLevel,
    Condition,
    Evaluator,
    Exposed,
    If,
    InDialect,
    IsRead,
    IsSet,
    Not,
    OfDeclared,
)
from draftboard.expr.nodes.expression import (
    Ago,
    At,
    Binary,
    Expr,
    FirstOf,
    Number,
    Operand,
    Recorded,
    Reduce,
    Rescoped,
    Select,
    Span,
    StandIn,
    expr,
    first_of,
)
from draftboard.expr.nodes.labels import (
    ALL_LABELS,
    LEVEL,
    Bound,
    Label,
    Labels,
    LabelsOfLevel,
    LabelsOfMetric,
    Match,
    Matching,
    Names,
    Pattern,
    UpTo,
    ignoring,
    on,
)
from draftboard.expr.nodes.past import NO_OFFSET, AsRecorded, AtEnd, Before, Extreme, OfOneMoment, Over, OverTime, Ref
from draftboard.expr.nodes.relabelled import (
    ByLabel,
    Carrying,
    CountValues,
    LabelJoin,
    LabelReplace,
    Numbers,
    PrefixSums,
    Successor,
    labelled,
    merged,
    renamed,
)
from draftboard.expr.nodes.series import InWindow, MetricOfDialect, Raw, Window, rate, rate_of_each
from draftboard.expr.nodes.values import (
    Aggregate,
    AtLeast,
    AtMost,
    Constant,
    Function,
    Interpolated,
    Now,
    Parameter,
    Quantile,
    QuantileBucket,
    Spread,
    constant,
    over_level,
)
