"""NannyML's univariate drift on frames in memory. Runs in the environment of that package.

    python peer_nannyml.py REFERENCE.arrow CURRENT.arrow

Its default methods and default chunks (ten); fitting the reference is timed apart.
"""

import json
import sys
import time

import nannyml
import pandas as pd
import pyarrow as pa


def main(reference_file: str, current_file: str) -> None:
    """Print one line of JSON."""
    reference, current = read(reference_file), read(current_file)
    names = list(reference.columns)
    categories = [name for name in names if name.startswith("category")]
    started, before = time.perf_counter(), time.process_time()
    calculator = nannyml.UnivariateDriftCalculator(
        column_names=names,
        treat_as_categorical=categories,
        continuous_methods=["kolmogorov_smirnov", "jensen_shannon"],
        categorical_methods=["chi2", "jensen_shannon"],
    )
    calculator.fit(reference)
    fitted, used = time.perf_counter(), time.process_time()
    results = calculator.calculate(current)
    ended = time.perf_counter()
    alerts = results.filter(period="analysis").to_df()
    print(
        json.dumps(
            {
                "seconds": ended - fitted,
                "cpu_seconds": time.process_time() - used,
                "fit_seconds": fitted - started,
                "fit_cpu_seconds": used - before,
                "rows": len(current),
                "figures": int(alerts.shape[0] * alerts.shape[1]),
                "version": nannyml.__version__,
            }
        )
    )


def read(name: str) -> pd.DataFrame:
    """An Arrow file as a frame; words as categories, which is the quickest form here."""
    with pa.memory_map(name) as source:
        return pa.ipc.open_file(source).read_all().to_pandas(strings_to_categorical=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
