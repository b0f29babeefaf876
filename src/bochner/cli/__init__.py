"""The ``bochner`` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bochner

__all__ = ["main"]

_PICTURES = (".png", ".pdf", ".svg")
_INTERRUPTED = 130  # what shells report for a command that Ctrl-C has ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments without the name of the program; those of the process by default.

    Returns
    -------
    int
        0 on success, 1 if an optional package is missing, 130 after Ctrl-C. Wrong arguments leave
        with 2, in the way of :mod:`argparse`.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return 0
    try:
        return int(arguments.command(arguments))
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return _INTERRUPTED
    except ImportError as error:
        print(f"bochner: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bochner",
        # In ASCII, for terminals that have nothing else.
        description="Random feature maps for the Laplacian, Matern and exponential-power kernels.",
    )
    parser.add_argument("--version", action="version", version=f"bochner {bochner.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="compare the exact kernel with random features on real data",
        description="Compare the exact Laplacian kernel with four kinds of random features on scikit-learn's "
        "handwritten digits: error, time and accuracy, as a table here and as a picture in a file.",
    )
    demo.add_argument(
        "--output",
        type=_picture,
        default=Path("bochner-demo.png"),
        metavar="PATH",
        help="the picture to write: .png, .pdf or .svg (default: %(default)s)",
    )
    demo.add_argument("--quick", action="store_true", help="fewer rows and features: a few seconds")
    demo.set_defaults(command=_demo)
    _add_reproduce(commands)
    return parser


def _add_reproduce(commands: Any) -> None:
    reproduce = commands.add_parser(
        "reproduce",
        help="measure the tables and figures of the paper anew",
        description="Measure the tables and figures of the paper anew, and write a page that shows them beside the "
        "paper's own. What is measured already is not measured again.",
    )
    reproduce.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="as table-5 (default: all, see --list)")
    reproduce.add_argument("--list", action="store_true", help="name the experiments and what is left to do")
    reproduce.add_argument("--quick", action="store_true", help="all of it small, on data that come with scikit-learn")
    reproduce.add_argument("--data", type=Path, metavar="FOLDER", help="data sets as .npz files (or: $BOCHNER_DATA)")
    reproduce.add_argument(
        "--output", type=_folder, metavar="FOLDER", help="results (default: bochner-results[-quick])"
    )
    for name in ("dataset", "kernel", "method", "seed", "norm"):
        reproduce.add_argument(f"--{name}", action="append", metavar="VALUE", help="only this; can be repeated")
    reproduce.set_defaults(command=_reproduce)


def _demo(arguments: argparse.Namespace) -> int:
    # Imported late, so that `bochner --version` is quick and needs no optional package.
    from bochner.cli import demo

    demo.run(arguments.output, demo.QUICK if arguments.quick else demo.FULL)
    return 0


def _reproduce(arguments: argparse.Namespace) -> int:
    from bochner.cli import reproduce

    wanted = {name: getattr(arguments, name) for name in ("dataset", "kernel", "method", "seed", "norm")}
    output = arguments.output or Path("bochner-results-quick" if arguments.quick else "bochner-results")
    try:
        request = reproduce.Request(
            tuple(arguments.experiments),
            output,
            arguments.data,
            arguments.quick,
            {name: values for name, values in wanted.items() if values},
        )
        if arguments.list:
            reproduce.show_list(request)
        else:
            reproduce.run(request)
    except (ValueError, OSError) as error:
        print(f"bochner: {error}", file=sys.stderr)
        return 2
    return 0


def _folder(text: str) -> Path:
    """A path of a folder: an empty text would be the one we are in."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder.")
    return Path(text)


def _picture(text: str) -> Path:
    """A path that a picture can be written to: refused now rather than after the work."""
    path = Path(text)
    if path.suffix.lower() not in _PICTURES:
        raise argparse.ArgumentTypeError(f"must end in {', '.join(_PICTURES)}. Got {text!r} instead.")
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {text!r} does not exist.")
    return path
