"""Choose which recordings to label: one classifier on spectra, a limit for each class, and a stop rule.

The recordings are made here: half a second of a horn, a string or a bell, at different pitches and with noise.
Run with: python examples/label_sound.py
"""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import versionspace as vs

RATE = 8_000
OVERTONES = {"bell": [1.0, 2.76, 5.4, 8.93], "horn": [1.0, 2.0, 3.0, 4.0], "string": [1.0, 3.0, 5.0, 7.0]}


def record(instrument, rng):
    """Return half a second of sound, float (4000,)."""
    t, pitch = np.arange(RATE // 2) / RATE, rng.uniform(180, 400)
    strength = rng.dirichlet([12, 3, 2, 2])
    wave = sum(a * np.sin(2 * np.pi * pitch * f * t) for a, f in zip(strength, OVERTONES[instrument], strict=True))
    return wave * np.exp(-rng.uniform(1, 6) * t) + rng.normal(0, 0.1, len(t))


def spectrum(wave):
    """Return 40 features: the loudness of the overtones, at multiples of the loudest frequency."""
    loudness = np.abs(np.fft.rfft(wave * np.hanning(len(wave))))
    multiples = np.linspace(1.25, 9, 40) * loudness.argmax()
    near = [loudness[max(int(m) - 4, 0) : int(m) + 5].max(initial=0.0) for m in multiples]
    return np.log(np.array(near) / loudness.max() + 1e-3)


rng = np.random.default_rng(0)
names = rng.choice(list(OVERTONES), size=700, p=[0.1, 0.6, 0.3])  # bells are rare
features = np.array([spectrum(record(name, rng)) for name in names])
pool, test = np.arange(500), np.arange(500, 700)

model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
labelled = [int(np.flatnonzero(names == name)[0]) for name in OVERTONES]
before = None
while True:
    members = vs.bootstrap_committee(model, features[labelled], names[labelled], members=10, seed=0)
    now = vs.majority_vote(vs.committee(members, features[test], classes=sorted(OVERTONES)))
    stop = before is not None and vs.stop.kappa(before, now, at_least=0.95)
    if stop or len(labelled) >= 150:
        break
    before = now
    rest = np.setdiff1d(pool, labelled)
    beliefs = vs.committee(members, features[rest], classes=sorted(OVERTONES))
    # At most five of the twelve recordings may sound alike to the committee, so that rare instruments are asked for.
    labelled += vs.query("bald", 12, pool=beliefs, ids=rest, balance=5, seed=0).tolist()

accuracy = (np.array(sorted(OVERTONES))[now] == names[test]).mean()
bells = int((names[labelled] == "bell").sum())
print(f"{len(labelled)} labels, of which {bells} bells: {stop.reason if stop else 'enough'}")
print(f"accuracy on {len(test)} other recordings: {100 * accuracy:.1f}%")
