"""What we measured ourselves: collected from runs, rendered into README.md and RESULTS.md.

python -m studies collect NAME RUNS…    numbers of finished campaigns into studies/NAME.json
python -m studies render                the tables between markers, from studies/*.json
"""
