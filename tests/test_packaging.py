"""The package as installed: its metadata, and what importing it brings along."""

import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import bochner

UNASKED = ("numba", "torch", "dask", "onnx", "matplotlib", "rich", "pandas", "polars")


def _python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_version_is_that_of_the_metadata():
    assert bochner.__version__ == metadata.version("bochner")


def test_import_brings_no_heavy_package():
    # scikit-learn, where it finds them, imports some of these itself.
    code = f"""
import sys, sklearn.kernel_approximation
before = set(sys.modules)
import bochner
print(*(name for name in {UNASKED} if name in set(sys.modules) - before))
"""
    assert _python(code) == ""


def test_version_option_needs_no_optional_package():
    without = "import sys; sys.modules.update(rich=None, matplotlib=None); "
    assert _python(without + "from bochner.cli import main; main(['--version'])") == f"bochner {bochner.__version__}"


def test_types_are_announced():
    assert resources.files("bochner").joinpath("py.typed").is_file()


def test_command_is_installed():
    (command,) = metadata.entry_points(group="console_scripts", name="bochner")
    assert command.value == "bochner.cli:main"


@pytest.mark.parametrize("extra", ["cli", "plots", "experiments", "dev", "bench"])
def test_extras_exist(extra):
    assert extra in metadata.metadata("bochner").get_all("Provides-Extra")


def test_changelog_has_the_version():
    changelog = Path(__file__).parents[1] / "CHANGELOG.md"
    assert bochner.__version__ in changelog.read_text(encoding="utf-8")
