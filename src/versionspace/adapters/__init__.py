"""Query methods as strategies of other libraries; each module requires its library.

skactiveml   `VersionSpaceQuery`, a query strategy of scikit-activeml     pip install "versionspace[skactiveml]"
modal        `query_strategy`, a query strategy of modAL                  pip install "versionspace[modal]"
"""
