"""What every table of settings has in common."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """Frozen and strict: an unknown key or a wrong type is an error, never a surprise."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)
