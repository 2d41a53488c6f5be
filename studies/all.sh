#!/bin/bash
# Run everything that RESULTS.md shows, the most important studies first; about twenty hours on two cores. Stop and
# restart it at any time: finished campaigns are skipped, the others resume.
#
#   studies/all.sh [RUNS] [--jobs 2]
set -eu
runs=${1:-runs}
shift || true
run() { versionspace run "$@"; }

run studies/stl10-heads.toml --seeds 0-4 --out "$runs/stl10-heads" "$@"
run studies/digits.toml --seeds 0-4 --out "$runs/digits" "$@"
for seed in 0 1 2; do
  run small/mnist --seeds $seed --out "$runs/mnist" "$@"
done
run small/mnist --seeds 0 --methods gvd-loo,gvd-batch,m-pwd,m-gvd --out "$runs/mnist" "$@"
run small/fashion-mnist --out "$runs/fashion-mnist" "$@"
run small/svhn --out "$runs/svhn" "$@"
run small/stl10 --out "$runs/stl10" "$@"
run small/stl10 --seeds 0-2 --set ensemble.members=6 --set budget.total=140 --out "$runs/stl10-six" "$@"

# The effect of one change on digits: the number of members, the size of a query, the vote.
for members in 5 10 40; do
  run studies/digits.toml --seeds 0-4 --methods random,pwd,gvd,gvd-loo --set ensemble.members=$members \
    --out "$runs/digits-members-$members" "$@"
done
for size in 5 20 50; do
  run studies/digits.toml --seeds 0-4 --methods gvd,gvd-batch --set query.size=$size --out "$runs/digits-query-$size" "$@"
done
run studies/digits.toml --seeds 0-4 --methods gvd --set query.vote=hard --out "$runs/digits-hard" "$@"

# The effect of one change on STL-10 with heads: the size of a query, the initial labels, the number of members.
few=random,pwd,gvd,gvd-batch
for size in 5 10; do
  run studies/stl10-heads.toml --seeds 0-9 --methods $few --set query.size=$size --out "$runs/heads-query-$size" "$@"
done
run studies/stl10-heads.toml --seeds 0-9 --methods badge,dfal --set query.size=10 --out "$runs/heads-query-10" "$@"
run studies/stl10-heads.toml --seeds 0-9 --methods $few --set data.initial=80 --out "$runs/heads-initial-80" "$@"
run studies/stl10-heads.toml --seeds 0-9 --methods $few --set ensemble.members=8 --out "$runs/heads-members-8" "$@"

# Why GVD is behind random on SVHN: the batch, or the number of initial labels.
run small/svhn --seeds 0 --methods gvd-batch --out "$runs/svhn" "$@"
run small/svhn --seeds 0 --methods random,gvd --set data.initial=400 --set budget.total=460 --out "$runs/svhn-400" "$@"

run studies/digits.toml --out "$runs/digits" "$@"
run studies/stl10-heads.toml --out "$runs/stl10-heads" "$@"
python -m studies.full_size
