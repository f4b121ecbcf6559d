"""What is a credential: known by the name of its flag or variable, for its value tells nothing."""

import re

_NAME = re.compile(r"(?i)(^|_)(api_?keys?|access_key|token|secret|passw(or)?d|credentials?|auth)$")
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")


def is_secret(name: str) -> bool:
    """Whether a flag or variable of this name holds a credential."""
    return bool(_NAME.search(name.replace("-", "_")))


def without_userinfo(word: str) -> str:
    """A word, without what may be a password in an address."""
    return _USERINFO.sub("", word)
