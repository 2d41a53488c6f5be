#!/bin/bash
# Everything that RESULTS.md shows, in the order in which it is wanted; about ten hours of two cores. Stop it at any
# moment and start it again: campaigns that are done are left as they are, the others go on.
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
run small/mnist --methods gvd-loo,gvd-batch,m-pwd,m-gvd --out "$runs/mnist" "$@"
run small/fashion-mnist --out "$runs/fashion-mnist" "$@"
run small/svhn --out "$runs/svhn" "$@"
run small/stl10 --out "$runs/stl10" "$@"

# What one change does, on digits: the number of members, the size of a query, the vote.
for members in 5 10 40; do
  run studies/digits.toml --seeds 0-4 --methods random,pwd,gvd,gvd-loo --set ensemble.members=$members \
    --out "$runs/digits-members-$members" "$@"
done
for size in 5 20 50; do
  run studies/digits.toml --seeds 0-4 --methods gvd,gvd-batch --set query.size=$size --out "$runs/digits-query-$size" "$@"
done
run studies/digits.toml --seeds 0-4 --methods gvd --set query.vote=hard --out "$runs/digits-hard" "$@"

run studies/digits.toml --out "$runs/digits" "$@"
run studies/stl10-heads.toml --out "$runs/stl10-heads" "$@"
python -m studies.full_size
