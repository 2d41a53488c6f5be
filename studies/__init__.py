"""Our own measurements: collected from runs and rendered into README.md and RESULTS.md.

python -m studies collect …    write the numbers of finished campaigns to studies/NAME.json
python -m studies render       render tables, numbers and figures from studies/*.json
"""
