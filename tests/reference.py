"""Every definition of the maths in plain loops: slow, obvious, and the reference for the kernels.

Nothing here is imported from versionspace. Probabilities are nested as [member][image][class], votes as
[member][image]; NumPy arrays work too.
"""

import itertools
import math


def argmax(values):
    """Return the lowest index of the largest value."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


def votes(probs):
    return [[argmax(row) for row in member] for member in probs]


def one_hot(votes, classes):
    return [[[1.0 if c == v else 0.0 for c in range(classes)] for v in member] for member in votes]


def subspace(votes, x, y):
    """Return V_x^y: the members that vote for y on image x."""
    return [m for m in range(len(votes)) if votes[m][x] == y]


def classes_voted(votes, x):
    return sorted({int(member[x]) for member in votes})


def distance(a, b):
    differing = 0
    for i in range(len(a)):
        if a[i] != b[i]:
            differing += 1
    return differing / len(a)


def gibbs_error(votes, x):
    M = len(votes)
    total = 0.0
    for y in classes_voted(votes, x):
        share = len(subspace(votes, x, y)) / M
        total += share * (1 - share)
    return total


def variation_ratio(votes, x):
    return 1 - max(len(subspace(votes, x, y)) for y in classes_voted(votes, x)) / len(votes)


def vote_entropy(votes, x):
    total = 0.0
    for y in classes_voted(votes, x):
        share = len(subspace(votes, x, y)) / len(votes)
        total -= share * math.log(share)
    return total


def pwd(S, ref_votes):
    """Return the pairwise disagreement of the members in S."""
    if len(S) < 2:
        return 0.0
    total = 0.0
    for i in S:
        for j in S:
            if i != j:
                total += distance(ref_votes[i], ref_votes[j])
    return total / (len(S) * (len(S) - 1))


def soft_vote(S, ref_probs, t):
    """Return the argmax of the probabilities, summed in float64 in member order."""
    sums = [0.0] * len(ref_probs[0][0])
    for i in sorted(S):
        for c in range(len(sums)):
            sums[c] += float(ref_probs[i][t][c])
    return argmax(sums)


def gvd(S, ref_probs, ref_votes):
    """Return the Gibbs-vote disagreement of the members in S. For hard votes, pass one_hot(votes) as probabilities."""
    T = len(ref_votes[0])
    differing = 0
    for t in range(T):
        vote = soft_vote(S, ref_probs, t)
        for i in S:
            if ref_votes[i][t] != vote:
                differing += 1
    return differing / (len(S) * T)


def gvd_loo(S, ref_probs, ref_votes):
    if len(S) < 2:
        return 0.0
    T = len(ref_votes[0])
    differing = 0
    for t in range(T):
        for i in S:
            if ref_votes[i][t] != soft_vote([j for j in S if j != i], ref_probs, t):
                differing += 1
    return differing / (len(S) * T)


def worst_case(pool_votes, x, diameter, power=0):
    """Return −max_y (s/M)^power diameter(V_x^y)."""
    values = []
    for y in classes_voted(pool_votes, x):
        S = subspace(pool_votes, x, y)
        values.append((len(S) / len(pool_votes)) ** power * diameter(S))
    return -max(values)


def cells(pool_votes, picks):
    """Return the common refinement of the picks' splits: groups of members that vote alike on all of them."""
    groups = {}
    for m in range(len(pool_votes)):
        groups.setdefault(tuple(int(pool_votes[m][x]) for x in picks), []).append(m)
    return list(groups.values())


def entropy(row):
    total = 0.0
    for p in row:
        if p > 0:
            total -= float(p) * math.log(float(p))
    return total


def mean_probs(probs, x):
    M, C = len(probs), len(probs[0][0])
    return [sum(float(probs[m][x][c]) for m in range(M)) / M for c in range(C)]


def margin(probs, x):
    second, first = sorted(mean_probs(probs, x))[-2:]
    return second - first


def least_confidence(probs, x):
    return 1 - max(mean_probs(probs, x))


def bald(probs, x):
    return entropy(mean_probs(probs, x)) - sum(entropy(member[x]) for member in probs) / len(probs)


def joint_entropy(probs, images):
    """Return the joint entropy of the labels of several images."""
    M, C = len(probs), len(probs[0][0])
    total = 0.0
    for labels in itertools.product(range(C), repeat=len(images)):
        p = 0.0
        for m in range(M):
            product = 1.0
            for x, y in zip(images, labels, strict=True):
                product *= float(probs[m][x][y])
            p += product / M
        if p > 0:
            total -= p * math.log(p)
    return total


def batchbald_gain(probs, picks, x):
    conditional = sum(entropy(member[x]) for member in probs) / len(probs)
    return joint_entropy(probs, [*picks, x]) - joint_entropy(probs, picks) - conditional


def euclidean(a, b):
    return math.sqrt(sum((float(u) - float(v)) ** 2 for u, v in zip(a, b, strict=True)))


def nearest(features, centres, x):
    return min((euclidean(features[x], centre) for centre in centres), default=0.0)


def gradient_embedding(row, feature):
    predicted = argmax(row)
    return [(float(p) - (c == predicted)) * float(f) for c, p in enumerate(row) for f in feature]


def agreement(votes, x):
    return all(member[x] == votes[0][x] for member in votes)


def wrong_agreement(votes, truth):
    N = len(truth)
    return sum(agreement(votes, x) and votes[0][x] != truth[x] for x in range(N)) / N


def projection_distance(prediction, votes, truth):
    """Return the distance of one hypothesis, given by its predictions."""
    N = len(truth)
    return sum(not agreement(votes, x) and prediction[x] != truth[x] for x in range(N)) / N
