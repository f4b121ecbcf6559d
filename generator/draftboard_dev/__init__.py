"""Commands for the development of Draftboard: in a checkout only, never in a wheel."""
