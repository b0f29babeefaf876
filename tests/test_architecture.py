"""Who may import whom, read off the import statements."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bochner

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bochner"

#: From the lowest to the highest; a module imports from its own layer and from lower ones.
LAYERS = [
    "_warnings",
    "_validation",
    "engine",
    "laws",
    "sampling",
    "kernels",
    "directions",
    "frequencies",
    "feature_plan",
    "error_estimate",
    "feature_gradients",
    "features",
    "progress",
    "memory",
    "solvers",
    "models",
    "diagnostics",
    "integrations",
    "datasets",
    "experiments",
    "cli",
]
#: Layers without scikit-learn, and what they may import beside NumPy and SciPy.
NUMERICAL = {
    "_warnings": (),
    "_validation": (),
    "engine": ("numba", "threadpoolctl"),
    "laws": (),
    "sampling": (),
    "kernels": (),
    "directions": (),
    "frequencies": (),
    "feature_plan": (),
    "error_estimate": (),
    "feature_gradients": (),
    "progress": (),
    "memory": (),
    "solvers": (),
}
#: Packages that only one place imports.
ONLY_IN = {
    "numba": "engine/",
    "matplotlib": "diagnostics/plots.py",
    "rich": "cli/console.py",
    "torch": "integrations/torch.py",
    "dask": "integrations/dask.py",
    "onnx": "integrations/onnx.py",
}

#: Public modules beside the public names of the package.
MODULES_OF_THEIR_OWN = ("datasets", "memory", "progress")

MODULES = sorted(PACKAGE.rglob("*.py"))
USERS = sorted(
    [
        *PACKAGE.glob("cli/*.py"),
        *PACKAGE.glob("experiments/**/*.py"),
        *(path for name in ("benchmarks", "experiments") for path in ROOT.glob(f"{name}/**/*.py")),
    ]
)


def imports(path):
    """All imported names of a file, absolute: ``from .. import laws`` in a kernel is ``bochner.laws``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{_absolute(node, path)}.{alias.name}" for alias in node.names)


def _absolute(node, path):
    if node.level == 0:
        return node.module
    folders = ("bochner", *path.relative_to(PACKAGE).parts)[: -node.level]
    return ".".join([*folders, *([node.module] if node.module else [])])


def layer(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_layers(path):
    return {name.split(".")[1] for name in imports(path) if name.startswith("bochner.")} & set(LAYERS)


def test_every_module_belongs_to_a_layer():
    assert {layer(path) for path in MODULES} <= {*LAYERS, "__init__"}


@pytest.mark.parametrize(
    "path", [path for path in MODULES if layer(path) in LAYERS], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_a_module_imports_only_from_lower_layers(path):
    own = LAYERS.index(layer(path))
    assert {name for name in imported_layers(path) if LAYERS.index(name) > own} == set()


@pytest.mark.parametrize(
    "path", [path for path in MODULES if layer(path) in NUMERICAL], ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_a_numerical_layer_imports_numpy_and_scipy_only(path):
    packages = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names
    assert packages <= {"bochner", "numpy", "scipy", *NUMERICAL[layer(path)]}


@pytest.mark.parametrize(
    ("first", "second"), [("kernels", "directions"), ("solvers", "kernels"), ("solvers", "features")]
)
def test_two_layers_do_not_know_each_other(first, second):
    for path in MODULES:
        if layer(path) in (first, second):
            assert imported_layers(path).isdisjoint({first, second} - {layer(path)}), path


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_package_is_imported_in_one_place_only(package):
    places = {str(p.relative_to(PACKAGE)) for p in MODULES if package in {name.split(".")[0] for name in imports(p)}}
    assert all(place.startswith(ONLY_IN[package]) for place in places), places


def test_an_optional_package_names_its_extra():
    for path in MODULES:
        if {name.split(".")[0] for name in imports(path)} & {"matplotlib", "rich", "torch", "dask", "onnx"}:
            assert "pip install 'bochner[" in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("path", USERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_command_and_the_benchmarks_use_public_names_only(path):
    for name in imports(path):
        if name.split(".")[0] != "bochner" or name == "bochner" or name.split(".")[1] in ("cli", "experiments"):
            continue
        assert name.split(".")[1] in [*bochner.__all__, *MODULES_OF_THEIR_OWN], f"{name} is not public"
        public = ("bochner.diagnostics", *(f"bochner.{module}" for module in MODULES_OF_THEIR_OWN))
        assert len(name.split(".")) == 2 or name.startswith(public), f"{name} is a submodule"
        assert not any(part.startswith("_") for part in name.split(".")), f"{name} is private"


@pytest.mark.parametrize("path", USERS, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_command_and_the_benchmarks_use_no_private_attribute(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    private = {node.attr for node in attributes if not node.attr.endswith("__") and not _of_itself(node)}
    assert private == set()


def _of_itself(node):
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def test_public_names_exist_and_are_sorted():
    assert sorted(bochner.__all__) == bochner.__all__
    assert all(hasattr(bochner, name) for name in bochner.__all__)


def test_importing_the_package_imports_no_compiler():
    code = "import sys, bochner; print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )
