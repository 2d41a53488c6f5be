"""The catalogue: every dataset has files, checksums and sources."""

from versionspace.data.catalogue import SPECS, AptPackage, NpmPackage, WebSource
from versionspace.data.sources import KINDS


def test_the_catalogue_is_complete():
    for spec in SPECS.values():
        assert len(spec.classes) == 10
        assert spec.sources
        for source in spec.sources:
            edition = spec.editions[source.edition]
            assert edition.files
        for edition in spec.editions.values():
            files = [*edition.files, *([edition.archive] if edition.archive else [])]
            for file in files:
                for checksums in file.checksums.values():
                    assert checksums
                    assert all(len(one.partition(":")[2]) in (32, 64) for one in checksums)
    kinds = {type(source) for spec in SPECS.values() for source in spec.sources}
    assert kinds == {WebSource, NpmPackage, AptPackage}
    assert set(KINDS.values()) == kinds
