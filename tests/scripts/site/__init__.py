"""The documentation as a site: what MkDocs cannot take from docs/ as it is."""
