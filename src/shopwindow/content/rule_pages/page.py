"""What there is to know about one rule."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RulePage:
    """What there is to know about one rule.

    ``title``: what is wrong, in a few words. ``why``: a sentence or two; a family that
    only has an example of an engine's rule leaves both out. ``wrong`` and ``right``: the
    mistake and the fix, as a part of the file ``path``: of the file that the example's
    folder has, at its end if ``right`` is not in it yet. Without a path, they are a whole YAML file of any kind.
    ``beside``: other files of the example, each with its path and text. ``advice``: what
    to do where no file shows the mistake or the fix: the rule is about names of files,
    or about sizes.
    """

    name: str
    title: str = ""
    why: str = ""
    wrong: str = ""
    right: str = ""
    path: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    advice: str = ""

    @property
    def has_example(self) -> bool:
        """Whether the page shows a mistake: leaving something out may be one."""
        return bool(self.wrong or self.right)
