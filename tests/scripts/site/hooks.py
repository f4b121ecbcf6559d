"""What MkDocs calls while it builds the site."""

from pathlib import Path

from markdown import Extension, Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from draftboard.settings import Settings
from scripts.site import reference
from scripts.site.links import for_site

ROOT = Path(__file__).parents[3]
RUNBOOKS = {f"alerts/runbooks/{path.name}": f"runbooks/{path.name}" for path in ROOT.glob("alerts/runbooks/*.md")}
INCLUDED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contribute/index.md",
    "SECURITY.md": "operate/security.md",
    "alerts/README.md": "runbooks/index.md",
    "deploy/vllm/probe/README.md": "operate/probe.md",
    **RUNBOOKS,
}
"""Files outside docs/ that are pages of the site."""
_SOURCES = {page: source for source, page in INCLUDED.items()}


class _AsOnGitHub(Extension):
    """What belongs to an entry of a list is indented as far as its text."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Markdown's own name)
        """Indent lists by two or three spaces in place of four."""
        md.tab_length = 2


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read lists as GitHub does, and list every runbook."""
    config.markdown_extensions.append(_AsOnGitHub())
    for part in config.nav or ():
        if "Runbooks" in part:
            part["Runbooks"] = ["runbooks/index.md", *({Path(page).stem: page} for page in sorted(RUNBOOKS.values()))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of code, and those outside docs/."""
    settings = Settings()
    made = {
        "reference/signals.md": reference.signals(settings),
        "reference/records.md": reference.records(settings),
        "reference/dashboards.md": reference.dashboards(settings),
        "reference/settings.md": reference.settings_page(),
        "reference/cli.md": reference.options(),
        **{page: (ROOT / source).read_text(encoding="utf-8") for source, page in INCLUDED.items()},
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point links where the site has their targets."""
    path = page.file.src_uri
    return for_site(markdown, _SOURCES.get(path, f"docs/{path}"), INCLUDED, ROOT)


def on_post_build(config: MkDocsConfig) -> None:
    """Let alerts that link to `NAME.md`, as in the repository, find the page of a runbook: for `links.runbooks`."""
    for page in RUNBOOKS.values():
        folder = Path(config.site_dir) / page
        folder.mkdir()
        to = f"../{folder.stem}.html"
        text = f"""<script>location.replace("{to}" + location.search)</script>
<noscript><meta http-equiv="refresh" content="0; url={to}"></noscript>
<a href="{to}">{folder.stem}</a>
"""
        (folder / "index.html").write_text(text, encoding="utf-8")
