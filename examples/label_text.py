"""Choose which texts to label, from features that you computed yourself.

The texts are paragraphs of NumPy's documentation, the class of each is the module that it describes. Any features will
do: here TF-IDF, reduced to 64 numbers.

Run with: python examples/label_text.py [FOLDER]          (default: a temporary folder, deleted at the end)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import versionspace as vs

MODULES = {"fft": np.fft, "linalg": np.linalg, "random": np.random.Generator, "strings": np.strings}


def documentation():
    """Return paragraphs of NumPy's documentation, and the module of each, in random order."""
    texts, names = [], []
    for name, module in MODULES.items():
        functions = [getattr(module, one) for one in dir(module) if not one.startswith("_")]
        documents = {function.__doc__ for function in functions if callable(function) and function.__doc__}
        paragraphs = {text for document in documents for text in document.split("\n\n") if 60 < len(text) < 1000}
        texts += sorted(paragraphs)
        names += [name] * len(paragraphs)
    order = np.random.default_rng(0).permutation(len(texts))
    return [texts[i] for i in order], np.array(names)[order]


def main(work):
    """Compare two methods on features in a file, then classify texts that no campaign has seen."""
    texts, names = documentation()
    features = make_pipeline(TfidfVectorizer(sublinear_tf=True), TruncatedSVD(64, random_state=0)).fit_transform(texts)
    work.mkdir(parents=True, exist_ok=True)
    np.savez(work / "texts.npz", features=features[200:], labels=names[200:])
    np.save(work / "new-texts.npy", features[:200])
    print(f"{len(names)} texts of {len(MODULES)} classes, {features.shape[1]} features each")

    (work / "texts.toml").write_text(
        f'[data]\nname = "{work / "texts.npz"}"\ntest = 200\ninitial = 4\n'
        "[ensemble]\nmembers = 10\n[training]\nepochs = 40\n[query]\nsize = 8\n[budget]\ntotal = 60\n"
    )
    run = vs.run(work / "texts.toml", methods=["random", "pwd-cover"], seeds=range(2), out=work / "runs")
    for method in ("random", "pwd-cover"):
        ends = [one.measured_rounds()[-1].metrics for one in run.campaigns() if one.method == method]
        accuracy = np.mean([end.sets["test"].vote_accuracy for end in ends])
        print(f"{method:9} accuracy {100 * accuracy:.1f}% with {ends[0].labels} labels")

    campaign = work / "runs" / "pwd-cover" / "0"
    for command in (
        ["export", campaign, "--model", "safetensors", "--out", work / "model"],
        ["predict", work / "model", work / "new-texts.npy", "--out", work / "classes.csv"],
    ):
        subprocess.run([sys.executable, "-m", "versionspace.cli", *map(str, command)], check=True, capture_output=True)
    rows = [line.split(",") for line in (work / "classes.csv").read_text().splitlines()[1:]]
    right = [row[1] == names[int(row[0])] for row in rows]
    print(f"accuracy on {len(right)} new texts: {100 * np.mean(right):.1f}%")


if __name__ == "__main__":  # campaigns run in processes, which import this module
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
