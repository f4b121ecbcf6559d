"""A speculative configuration without what is dead, as vLLM 0.32 takes it."""

from draftboard.doctor.command import dead
from draftboard.doctor.command.keys import KEYS, Config, nearest
from draftboard.doctor.command.methods import MTP_SUFFIX

_NGRAM = {"[ngram]", "ngram"}
"""What the V0 engine took as the name of a drafter that is none."""
_BY_NAME = {"eagle3": "eagle3", "eagle": "eagle", "medusa": "medusa"}


def revived(config: Config) -> Config:
    """The configuration with dead keys moved or left out, and mistyped ones as they were probably meant."""
    alive = {key: value for key, value in config.items() if key in KEYS}
    for key, value in config.items():
        if key not in KEYS:
            gone = dead.KEYS.get(key.replace("-", "_"))
            meant = gone.key if gone else nearest(key, list(KEYS))
            if meant:
                alive.setdefault(meant, value)
    alive = _renamed(alive if alive == config else _with_method(alive))
    return {key: alive[key] for key in KEYS if key in alive}


def guessed(config: Config) -> bool:
    """Whether the method of the revived one is a guess by the drafter's name, for old spellings named none."""
    return "method" not in config and revived(config).get("method", "ngram") != "ngram"


def _with_method(alive: Config) -> Config:
    model = alive.get("model")
    if "method" in alive or not isinstance(model, str):
        return alive
    if model in _NGRAM:
        return {"method": "ngram"} | {key: value for key, value in alive.items() if key != "model"}
    method = next((method for part, method in _BY_NAME.items() if part in model.lower()), "draft_model")
    return {"method": method} | alive


def _renamed(alive: Config) -> Config:
    method = alive.get("method")
    deprecated = isinstance(method, str) and method.endswith(MTP_SUFFIX)
    return alive | {"method": "mtp"} if deprecated else alive
