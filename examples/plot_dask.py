"""
A million rows on a Dask cluster
================================

The rows live on the workers. A random sample selects the basis and learns the hyperparameters, and
all rows make the posterior. The more rows, the closer the model is to the truth.
"""

# %%
# A cluster on this machine: two workers in this process, each with a thread. With
# `Client("scheduler:8786")` it would be one of many machines, and nothing below would change.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from greedygp import SparseGPRegressor

client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0")

# %%
# Rows are Dask arrays; they could as well be columns of a Dask dataframe that reads Parquet files.
# The noise is as large as the signal.


def truth(X):
    return np.sin(6 * X[:, 0]) + np.cos(4 * X[:, 1])


def rows(n):
    rng = da.random.default_rng(0)
    X = rng.uniform(size=(n, 2), chunks=(50_000, 2))
    return X, truth(X) + rng.normal(size=n, chunks=50_000)


# %%
# The same fit to more and more rows: 5000 of them learn, the others only make the posterior.

X_new = np.random.default_rng(1).uniform(size=(2000, 2))
sizes, errors = (10_000, 100_000, 1_000_000), []
for n in sizes:
    model = SparseGPRegressor(max_basis=40, max_iter=10, learning_rows=5000, random_state=0)
    model.fit(*rows(n))
    errors.append(np.sqrt(np.mean((model.predict(X_new) - truth(X_new)) ** 2)))
    print(f"{n:9,} rows: RMSE against the truth {errors[-1]:.4f}")

# %%
# Predictions of Dask arrays are Dask arrays: nothing has been computed of them yet.

mean, std = model.predict(rows(200_000)[0], return_std=True)
print(mean)

plt.loglog(sizes, errors, "o-")
plt.xlabel("rows")
plt.ylabel("RMSE against the truth")
plt.show()

# %%
client.close()
