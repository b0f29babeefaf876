"""From a CSV file to the picture of what the model looks at.

    python examples/from_csv_to_picture.py [rentals.csv] [picture.png]

The file has a column of targets, "rented", and columns of numbers and of words. Words are one-hot encoded, numbers
standardised, and the recursive feature machine learns which of them matter, and how. Without a file, one is made up:
hourly rentals of bicycles that depend on the hour, the temperature and the weather, but neither on the humidity nor on
the two columns of noise. The picture should say so.

The machine within is the exact one, which is best for some thousand rows. For many more take
RandomFeatureRegressor(n_components=4096), or RandomFeatureClassifier for classes; nothing else changes.

Needs pandas and the extra "plots": pip install pandas 'bochner[plots]'
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bochner import KernelRegressor, RecursiveFeatureMachine
from bochner.diagnostics.plots import learned_metric_figure


def made_up_rentals(n: int = 2000) -> pd.DataFrame:
    """Rentals whose law is known."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "hour": rng.integers(0, 24, n),
            "temperature": rng.normal(15.0, 8.0, n),
            "humidity": rng.uniform(20.0, 100.0, n),
            "weather": rng.choice(["clear", "mist", "rain"], n, p=[0.6, 0.25, 0.15]),
            "noise": rng.normal(size=n),
            "more noise": rng.normal(size=n),
        }
    )
    commuting = np.exp(-((frame["hour"] - 8) ** 2) / 4) + np.exp(-((frame["hour"] - 17) ** 2) / 6)
    warmth = np.exp(-(((frame["temperature"] - 22) / 10) ** 2))
    dry = frame["weather"].map({"clear": 1.0, "mist": 0.8, "rain": 0.3})
    frame["rented"] = (300 * (0.2 + commuting) * warmth * dry + rng.normal(0, 10, n)).round()
    return frame


def main(file: str | None, picture: str) -> None:
    """Read, fit, tell and draw."""
    path = Path(file or "rentals.csv")
    if file is None:
        made_up_rentals().to_csv(path, index=False)
    table = pd.read_csv(path)
    X, y = table.drop(columns="rented"), table["rented"]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    prepare = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    machine = RecursiveFeatureMachine(KernelRegressor(), random_state=0)
    model = make_pipeline(prepare, machine).fit(X_train, y_train)

    plain = make_pipeline(prepare, KernelRegressor(random_state=0)).fit(X_train, y_train)
    scores = [fitted.score(X_test, y_test) for fitted in (model, plain)]
    print("R2 on test rows: {:.3f}, without a learned metric {:.3f}".format(*scores))
    print(machine.summary())
    learned_metric_figure(machine).savefig(picture)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    given = dict(enumerate(sys.argv[1:]))
    main(given.get(0), given.get(1, "what-the-model-looks-at.png"))
