"""The study of coverage: which methods are worth their labels when labels are few, from the first one on.

python -m studies.coverage features RUNS       write the features files that the campaigns read
python -m studies.coverage run RUNS [--jobs 2] run what results.json lacks; stop and restart it at any time
python -m studies.coverage first RUNS          compare the first images of all, before there is a model
python -m studies.coverage scratch RUNS        run the campaigns with networks trained from scratch
python -m studies.coverage variants RUNS       compare variants of pwd-cover, one change at a time
python -m studies.coverage collect RUNS        add them to studies/coverage/results.json
python -m studies.coverage render              write studies/coverage/REPORT.md and its figures
"""
