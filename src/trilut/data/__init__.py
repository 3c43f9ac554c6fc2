"""Data sets: made, inside scikit-learn, downloaded, or the user's own files."""

from trilut.data.dataset import Dataset, Split, dataset_facts
from trilut.data.downloads import FETCHED, fetch_dataset, is_fetched
from trilut.data.names import dataset_names, dataset_origins, load_dataset

__all__ = [
    "FETCHED",
    "Dataset",
    "Split",
    "dataset_facts",
    "dataset_names",
    "dataset_origins",
    "fetch_dataset",
    "is_fetched",
    "load_dataset",
]
