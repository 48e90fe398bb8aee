"""The steps of `scaling reference --submit`: studies checked, a commit made, a text written.

The commit is made beside what its user works on: with an index of its own, on a branch that is not
checked out, so that files, index and branch of the clone stay as they are. Nothing is sent.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from scaling.analysis.claims import read_claims
from scaling.analysis.claims.judging import judge
from scaling.analysis.table.load import read_journal
from scaling.base.console import say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed
from scaling.cli.reference_steps import PUBLISHED, State, decoded, free_name, published_on
from scaling.cli.reference_steps import STATE as STATE_FILE
from scaling.journal.file import FILE_NAME as JOURNAL
from scaling.journal.protected_write import try_writing, write_text
from scaling.journal.reading import PUBLISHED_NAME, published_in
from scaling.report.claims import markdown
from scaling.report.publish import PAGE
from scaling.report.submission import Checked, check_study, files_of, pull_request, title_of
from scaling.study.reference import reference_studies

TEXT = "pull-request.md"
CLAIMS = "claims.md"
AGAIN = "scaling reference --submit"


@dataclass
class SubmitSteps:
    """What is published in `folder` (of a machine, or of several), for a pull request.

    `asked` are the names of the studies that must be there; of none, those that are. With `partial`
    studies that fail are left out. `output` is where sessions keep their state, and gets the text;
    `published` is the folder of the clone with a folder for each machine.
    """

    folder: Path
    published: Path
    output: Path
    console: Console
    asked: Sequence[str] = ()
    branch: str | None = None
    partial: bool = False

    def submit(self) -> None:
        """Check, commit and write, then print what is left to do.

        Raises:
            UsageError: no studies there, no clone, no name for the commit, no such branch name.
            ScalingError: a study fails a check.
        """
        from scaling.report.index import write_index

        checked = self._checked()
        failed = [each for each in checked if each.problems]
        sound = [each for each in checked if not each.problems]
        for each in failed:
            for problem in each.problems:
                say(self.console, f"{each.folder}: {problem}")
        if failed and not (self.partial and sound):
            advice = ", or leave them out with --partial" if sound else ""
            raise ScalingError(f"not submitted: {named(failed)}. Measure them again{advice}")
        clone = Clone.around(self.published)
        author = clone.author
        if self.branch:
            clone.require_name(self.branch)
        machines = self._placed(sound)
        branch, title = self.branch or f"results-{next(iter(machines))}", title_of(machines)
        committed = self._committed(machines, clone.tracked(branch))
        for name in machines:
            self._write_claims(self.published / name, committed)
        write_index(self.published, committed)
        commit = clone.commit([*self._files(machines)], branch, title)
        say(self.console, f"complete and sound, and nobody is named: {named(sound)}")
        if not commit and not clone.has(branch):
            say(self.console, "What is checked out has all of it already: nothing to submit")
            return
        text = pull_request(machines, failed, [study.name for study in reference_studies()])
        file = self.output / TEXT
        write_text(file, text, AGAIN)
        made = f"is commit {commit[:10]} by {author}" if commit else "has all of it already"
        create = ["gh", "pr", "create", "--head", branch, "--title", title, "--body-file", file]
        for line in (
            f"branch {branch} {made}; what you work on is as it was",
            f"the text of the pull request is {file}",
            "Nothing was sent. Look at it, then:",
            f"  git push origin {shlex.quote(branch)}",
            f"  {shlex.join(map(str, create))}",
        ):
            say(self.console, line)

    # ---------------------------------------------------------------------------------------- check

    def _checked(self) -> list[Checked]:
        """Every study that is there or should be, checked."""
        folders = self._folders()
        checked = [check_study(folder) for folder in folders if self._is_asked(folder.name)]
        there = {each.name for each in checked}
        lacking = [
            Checked(folder=self.folder / name, problems=("it is not there",))
            for name in self.asked
            if name not in there
        ]
        return [*_of_one_machine_each(checked), *lacking, *self._failed_here(folders)]

    def _folders(self) -> list[Path]:
        """The folders of all studies below the one that was named."""
        if not self.folder.is_dir():
            raise UsageError(f"--submit {self.folder}: there is no such folder")
        names = (JOURNAL, PUBLISHED_NAME)
        found = {file.parent for name in names for file in self.folder.rglob(name)}
        if not found or self.folder in found:
            raise UsageError(
                f"--submit {self.folder}: expected the folder of a machine, with a folder for each "
                f"published study: results/published/epyc-64-cores"
            )
        return sorted(found)

    def _is_asked(self, name: str) -> bool:
        return not self.asked or name in self.asked

    def _failed_here(self, folders: Sequence[Path]) -> Iterator[Checked]:
        """What a session on this machine tried and did not publish."""
        for machine in dict.fromkeys(folder.parent for folder in folders):
            file = self.output / machine.name / STATE_FILE
            if not file.is_file():
                continue
            state = decoded(file, State, "Remove it if it is of no use")
            for name, ended in state.studies.items():
                folder = machine / name
                tried = ended.outcome != PUBLISHED and self._is_asked(name)
                if tried and name not in self.asked and not folder.exists():
                    problem = f"{ended.outcome} on {ended.at[:10]}"
                    yield Checked(folder=folder, problems=(problem,))

    # ---------------------------------------------------------------------------------------- place

    def _placed(self, sound: Sequence[Checked]) -> dict[str, list[Checked]]:
        """The studies by the name of their machine, each where it belongs in the clone."""
        machines: dict[str, list[Checked]] = {}
        for each in sound:
            name = self._name_for(each)
            target = self.published / name / each.name
            if target.resolve() != each.folder.resolve():
                try_writing(target, partial(_copy, each, target), AGAIN)
            machines.setdefault(name, []).append(replace(each, folder=target))
        return machines

    def _name_for(self, each: Checked) -> str:
        """The machine's name where it was published; with a number where another one has it."""
        name = each.folder.parent.name
        if each.folder.parent.resolve().parent == self.published.resolve():
            return name

        def is_free(name: str) -> bool:
            others = published_on(self.published / name)
            return all(facts == each.machine for facts in others)

        return free_name(name, is_free)

    def _committed(
        self, machines: Mapping[str, Sequence[Checked]], tracked: Collection[Path]
    ) -> list[Path]:
        """The studies of all machines that are committed, or will be."""
        there = {each.resolve() for each in published_in(self.published)}
        ours = {each.folder.resolve() for studies in machines.values() for each in studies}
        return sorted(
            folder for folder in there if folder in ours or folder / PUBLISHED_NAME in tracked
        )

    def _write_claims(self, machine: Path, committed: Sequence[Path]) -> None:
        """Write the claims as `scaling claims` does, judged by the studies that are committed."""
        here = machine.resolve()
        journals = [read_journal(folder) for folder in committed if folder.parent == here]
        text = markdown(judge(journals, read_claims(None)))
        write_text(machine / CLAIMS, text, AGAIN)

    def _files(self, machines: Mapping[str, Sequence[Checked]]) -> Iterator[Path]:
        """What goes into the commit."""
        yield self.published / PAGE
        for name, studies in machines.items():
            yield self.published / name / CLAIMS
            for each in studies:
                yield from files_of(each.folder)


def named(studies: Sequence[Checked]) -> str:
    """`compare, scale and serve`: each name once."""
    return listed(dict.fromkeys(each.name for each in studies))


def _of_one_machine_each(checked: Sequence[Checked]) -> Iterator[Checked]:
    """The same, where a study of another machine than the first in its folder has that problem."""
    first: dict[Path, Checked] = {}
    for each in checked:
        if each.machine is None:
            yield each
            continue
        other = first.setdefault(each.folder.parent, each)
        if other.machine == each.machine:
            yield each
        else:
            problem = f"it was measured on another machine than {other.name}"
            yield replace(each, problems=(*each.problems, problem))


def _copy(each: Checked, target: Path) -> None:
    """Copy what was published of a study, in place of what is there of an earlier one."""
    for file in files_of(target):
        file.unlink()
    for file in files_of(each.folder):
        copy = target / file.relative_to(each.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


# ------------------------------------------------------------------------------------------- commit


@dataclass(frozen=True)
class Clone:
    """A clone of the repository, and what git does in it."""

    root: Path

    @classmethod
    def around(cls, folder: Path) -> "Clone":
        """The clone that a folder is in.

        Raises:
            UsageError: it is in none, or there is no git.
        """
        inside = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
        try:
            found = cls(inside).git("rev-parse", "--show-toplevel")  # without links
        except ScalingError as error:
            raise UsageError(
                f"{folder} is in no clone of the repository that git can use ({error}). "
                f"git clone it, and run the same command there"
            ) from None
        return cls(Path(found))

    @property
    def author(self) -> str:
        """The name that a commit gets. Raises `UsageError` if the user has not told git any."""
        try:
            return self.git("var", "GIT_AUTHOR_IDENT").rpartition(">")[0] + ">"
        except ScalingError:
            raise UsageError(
                "git does not know whose the commit is: git config user.name NAME, and "
                "git config user.email ADDRESS"
            ) from None

    def require_name(self, branch: str) -> None:
        """Raises `UsageError` where git takes no branch of that name."""
        if not self._agrees("check-ref-format", "--branch", branch):
            raise UsageError(f"--branch {branch}: expected a name that git takes: results-mine")

    def commit(self, files: Sequence[Path], branch: str, message: str) -> str:
        """Commit files to a branch, without those that are gone from the folders of their studies;
        return the commit's name. It is empty if the branch has all of this already.

        A new branch begins at what is checked out. Raises `ScalingError` with git's reason.
        """
        reference, is_there = f"refs/heads/{branch}", self.has(branch)
        parent = self.git("rev-parse", self._before(branch))
        names = [str(file.resolve().relative_to(self.root)) for file in files]
        folders = [str(Path(name).parent) for name in names if name.endswith(PUBLISHED_NAME)]
        with TemporaryDirectory() as own:
            index = {"GIT_INDEX_FILE": str(Path(own, "index")), "GIT_LITERAL_PATHSPECS": "1"}
            self.git("read-tree", parent, **index)
            old = self.git("ls-files", "-z", "--", *folders, **index).split("\0")
            gone = [name for name in old if name and not (self.root / name).exists()]
            every = "".join(f"{name}\0" for name in (*names, *gone))
            self.git("update-index", "--add", "--remove", "-z", "--stdin", given=every, **index)
            tree = self.git("write-tree", **index)
        if tree == self.git("rev-parse", f"{parent}^{{tree}}"):
            return ""
        commit = self.git("commit-tree", tree, "-p", parent, "-m", message)
        self.git("update-ref", reference, commit, *([parent] if is_there else []))
        if is_there and self.git("rev-parse", "--symbolic-full-name", "HEAD") == reference:
            self.git("reset", "--quiet", "--", *names, *gone)  # the index of what is checked out
        return commit

    def tracked(self, branch: str) -> set[Path]:
        """The files of a branch; those of what is checked out, from which a new one begins."""
        names = self.git("ls-tree", "-r", "-z", "--name-only", self._before(branch)).split("\0")
        return {self.root / name for name in names if name}

    def has(self, branch: str) -> bool:
        """Whether there is a branch of that name."""
        return self._agrees("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")

    def _before(self, branch: str) -> str:
        return f"refs/heads/{branch}" if self.has(branch) else "HEAD"

    def _agrees(self, *arguments: str) -> bool:
        try:
            self.git(*arguments)
        except ScalingError:
            return False
        return True

    def git(self, *arguments: str, given: str = "", **variables: str) -> str:
        """What a git command prints that gets `given` as its input. Raises `ScalingError`."""
        try:
            done = subprocess.run(
                # Else git makes up an address, which has the name of this machine.
                ["git", "-c", "user.useConfigOnly=true", *arguments],
                cwd=self.root,
                input=given,
                capture_output=True,
                text=True,
                env={**os.environ, **variables},
                check=False,
            )
        except FileNotFoundError:
            raise ScalingError("git is not installed") from None
        if done.returncode:
            reason = done.stderr.strip().partition("\n")[0]
            raise ScalingError(reason or f"git {arguments[0]} failed")
        return done.stdout.strip()
