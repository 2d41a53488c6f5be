"""Choose which rows of a table to label: a committee of classifiers on columns of numbers and of categories.

The table describes wines of three growers (scikit-learn's wine data), with a column of categories added and some values
missing, as in most tables. Run with: python examples/label_table.py
"""

import numpy as np
import pandas
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import versionspace as vs

wine = load_wine(as_frame=True)
table = wine.data.mask(np.random.default_rng(0).random(wine.data.shape) < 0.05)
table["colour"] = pandas.cut(wine.data["hue"], 3, labels=["pale", "medium", "deep"]).astype(str)
grower = np.array(["Rossi", "Bianchi", "Verdi"])[wine.target]

numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder=numbers)
model = make_pipeline(columns, LogisticRegression(max_iter=1000))


def simulate(method, seed):
    """Label 15 rows, three at a time; return the accuracy of the committee's vote on the others."""
    order = np.random.default_rng(seed).permutation(len(table))
    pool, test = order[:100], order[100:]
    labelled = [next(i for i in pool if grower[i] == name) for name in np.unique(grower)]
    while True:
        # A bootstrap sample of few rows often lacks a grower: committee() gives the missing class probability 0.
        members = vs.bootstrap_committee(model, table.iloc[labelled], grower[labelled], members=8, seed=seed)
        if len(labelled) == 15:
            vote = vs.committee(members, table.iloc[test], classes=np.unique(grower)).mean(axis=0).argmax(axis=1)
            return (np.unique(grower)[vote] == grower[test]).mean()
        rows = np.setdiff1d(pool, labelled)
        beliefs = vs.committee(members, table.iloc[rows])
        chosen = vs.query(method, 3, pool=beliefs, ids=rows, seed=seed, return_record=True)
        labelled += chosen.ids.tolist()  # here a person would look the grower up


for method in ("random", "margin"):
    accuracy = np.mean([simulate(method, seed) for seed in range(2)])
    print(f"{method:6} accuracy with 15 labels, mean of 2 seeds: {100 * accuracy:.1f}%")
