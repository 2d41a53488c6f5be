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


def epig(probs, targets, x):
    """Return the mean over the targets of the mutual information between the labels of image x and of the target."""
    M, C, T = len(probs), len(probs[0][0]), len(targets[0])
    total = 0.0
    for t in range(T):
        first, second = mean_probs(probs, x), mean_probs(targets, t)
        for a in range(C):
            for b in range(C):
                joint = sum(float(probs[m][x][a]) * float(targets[m][t][b]) for m in range(M)) / M
                if joint > 0:
                    total += joint * math.log(joint / (first[a] * second[b]))
    return total / T


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


def unit(row):
    """Return a vector scaled to length 1; 0 stays 0."""
    norm = math.sqrt(sum(float(v) ** 2 for v in row))
    return [float(v) / norm for v in row] if norm else [0.0 for _ in row]


def uncovered_gain(features, labelled, weights, radius, x):
    """E over all images of δ · max(k(·, x) − max_l k(·, l), 0), with a Gaussian kernel on features of length 1."""

    def kernel(a, b):
        return math.exp(-(euclidean(a, b) ** 2) / (2 * radius**2))

    images, centres = [unit(row) for row in features], [unit(row) for row in labelled]
    total = 0.0
    for image, weight in zip(images, weights, strict=True):
        covered = max((kernel(image, centre) for centre in centres), default=0.0)
        total += weight * max(kernel(image, images[x]) - covered, 0.0)
    return total / len(images)


def doubted(features, labelled, weight, radius, x):
    """Return 1 − c · (1 − weight), where c is how far the labelled images cover x."""
    image, centres = unit(features[x]), [unit(row) for row in labelled]
    covered = max((math.exp(-(euclidean(image, c) ** 2) / (2 * radius**2)) for c in centres), default=0.0)
    return 1 - covered * (1 - weight)


def ball_share(features, labelled, radius, x):
    """Return the share of images within the radius of x that are not within the radius of a labelled image."""
    images, centres = [unit(row) for row in features], [unit(row) for row in labelled]
    count = 0
    for image in images:
        if euclidean(image, images[x]) < radius and all(euclidean(image, centre) >= radius for centre in centres):
            count += 1
    return count / len(images)


def purity(features, classes, radius):
    """Return the share of images whose ball contains images of their own class only."""
    pure = 0
    for image, own in zip(features, classes, strict=True):
        inside = [c for other, c in zip(features, classes, strict=True) if euclidean(unit(image), unit(other)) < radius]
        pure += all(c == own for c in inside)
    return pure / len(features)


def typicality(features, cluster, x, neighbours=20):
    """Return 1 / mean distance of x to its nearest neighbours among the images of the cluster."""
    distances = sorted(euclidean(unit(features[x]), unit(features[other])) for other in cluster if other != x)
    nearest = distances[: min(neighbours, len(cluster) // 2)]
    return 1 / (sum(nearest) / len(nearest) + 1e-5) if nearest else 0.0


def typiclust_visit(clusters, labelled_clusters, picks, smallest=5):
    """Return the images of the cluster that TypiClust visits after these picks, without those already picked.

    ``clusters`` holds the cluster of each image of the pool, ``labelled_clusters`` that of each labelled image.
    """
    numbers = sorted(set(clusters) | set(labelled_clusters))
    labels = {c: labelled_clusters.count(c) for c in numbers}
    sizes = {c: clusters.count(c) + labels[c] for c in numbers}
    order = sorted(numbers, key=lambda c: (labels[c], -sizes[c]))
    visits = 0
    for group in ([c for c in order if sizes[c] >= smallest], [c for c in order if sizes[c] < smallest]):
        left = {c: [x for x in range(len(clusters)) if clusters[x] == c] for c in group}
        while any(left.values()):
            for c in group:
                if left[c] and visits == len(picks):
                    return left[c]
                if left[c]:
                    left[c].remove(picks[visits])
                    visits += 1
    return []
